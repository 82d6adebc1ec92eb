/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The few frames for remote calls that an address space has: one is free again when its thread has ended. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/trace/dispatch.h"
#include "engine/trace/wait_loop.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/resume.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"
#include "tests/unit/quiet_tracer.h"

/* Numbers that no thread has any more. */
static pid_t ended(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void free_when_its_thread_ends(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	pid_t tids[] = { ended(), ended() };
	struct process *p = quiet_tracer_add(&tracer, tids[0]);
	struct space *space = p->space;
	struct tracee *t[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		t[i] = tracer_add_tracee(&tracer, p, tids[i]);
		assert_non_null(t[i]);
		t[i]->remote.frame = (uint8_t)(REMOTE_FRAMES - i);
		space->frames_taken |= 1U << (t[i]->remote.frame - 1);
	}
	tracer_dispatch(&tracer, &(struct stop){ .tid = tids[1], .exited = true });
	assert_false(tracer_has(&tracer, t[1], tids[1]));
	assert_true(tracer_has(&tracer, t[0], tids[0]));
	assert_int_equal(space->frames_taken, 1U << (REMOTE_FRAMES - 1));

	tracee_leave_frame(t[0]);
	assert_int_equal(space->frames_taken, 0);
	tracee_leave_frame(t[0]);
	assert_int_equal(t[0]->remote.frame, 0);
	tracer_dispatch(&tracer, &(struct stop){ .tid = tids[0], .exited = true });
	assert_int_equal(tracer.processes.n, 0);
	tracer_fini(&tracer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_when_its_thread_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
