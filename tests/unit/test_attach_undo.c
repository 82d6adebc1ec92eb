/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A process is given up, and some of its threads cannot be stopped: engine/trace/attach.h. */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/trace/attach.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait_loop.h"
#include "tests/unit/quiet_tracer.h"

#define N_PARENTS 20
#define LIMIT_NS  5000000000ULL /* one after the other they take twice as long at least */

static int word[2], done[2];

/* Waits for its child, in the kernel, until it is killed. */
static void *be_parent(void *arg)
{
	pid_t child = vfork();

	if (child == 0) {
		char c = 'x';

		if (write(word[1], &c, 1) == 1 && read(done[0], &c, 1) == 0)
			_exit(0);
		_exit(1);
	}
	return arg;
}

static pid_t start_parents(void)
{
	pid_t pid;
	char c;

	assert_int_equal(pipe(word), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
		close(done[1]);
		for (int i = 0; i < N_PARENTS; i++)
			if (pthread_create(&thread, NULL, be_parent, NULL))
				_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < N_PARENTS; i++)
		assert_int_equal(read(word[0], &c, 1), 1);
	return pid;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static void one_limit_for_all(void **state)
{
	struct tracer_ops ops = quiet_tracer_ops;
	pid_t pid = start_parents();
	static struct tracer tracer;
	struct process *p = NULL;
	struct ubp_err err;
	uint64_t begun;

	(void)state;
	ops.meanwhile = nothing;
	assert_int_equal(tracer_init(&tracer, &ops, NULL, &err), 0);
	if (attach_process(&tracer, pid, &p, &err) < 0) {
		kill(pid, SIGKILL);
		skip(); /* as where nobody may be traced */
	}
	assert_int_equal(p->n_tracees, N_PARENTS + 1);
	begun = event_clock_now(CLOCK_KIND_MONO);
	attach_undo(&tracer, pid);
	assert_true(event_clock_now(CLOCK_KIND_MONO) - begun < LIMIT_NS);
	/* Who could be stopped is let go, the others stay. */
	assert_int_equal(p->n_tracees, N_PARENTS);
	assert_null(map_get(&tracer.tracees, (uint64_t)pid));
	kill(pid, SIGKILL);
	close(done[1]);
	/* Its threads are ours to reap, and come first. */
	while (waitpid(-1, NULL, __WALL | __WNOTHREAD) != pid)
		;
	tracer_fini(&tracer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_limit_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
