/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A look at a sleeper holds until the tracer lets it go on from a stop: hold_look(), hold_rest(). */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/hold.h"
#include "engine/trace/wait_loop.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "tests/unit/quiet_tracer.h"

#define LIMIT_S 20

/* Counted by the traced process as long as it runs. */
static atomic_uint *turns;

static void be_sleeper(int go)
{
	char c;

	alarm(LIMIT_S);
	if (read(go, &c, 1) != 1)
		_exit(2);
	for (;;)
		++*turns;
}

/* The traced process, asleep until a byte is written to *ret_go. */
static struct space *begin(struct tracer *tracer, pid_t *ret_pid, int *ret_go)
{
	struct space *space;
	struct process *p;
	struct ubp_err err;
	uint64_t pc, sp;
	int go[2];

	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	assert_true(turns != MAP_FAILED);
	assert_int_equal(pipe(go), 0);
	*ret_pid = fork();
	if (*ret_pid == 0)
		be_sleeper(go[0]);
	assert_int_equal(ptrace(PTRACE_SEIZE, *ret_pid, 0, TRACER_OPTIONS), 0);
	space = space_new(tracer, NULL, *ret_pid, &err);
	assert_non_null(space);
	p = tracer_add_process(tracer, *ret_pid, space);
	assert_non_null(p);
	assert_non_null(tracer_add_tracee(tracer, p, *ret_pid));
	while (!task_asleep(*ret_pid, &pc, &sp)) /* alarm() ends it */
		usleep(100);
	*ret_go = go[1];
	close(go[0]);
	return space;
}

static void end(struct tracer *tracer, pid_t pid, int go)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (tracer->tracees.n) {
		tracer_poll(tracer, 1);
		usleep(100);
	}
	tracer_fini(tracer);
	munmap(turns, sizeof(*turns));
	close(go);
}

static void run_on(void)
{
	unsigned before = *turns;

	while (*turns == before)
		usleep(100);
}

struct shown {
	unsigned n;
	bool alone;
};

static bool show(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	struct shown *shown = ctx;

	assert_true(t->tid && pc && sp);
	shown->n++;
	return shown->alone;
}

/* It has woken up, and still nobody has to stop it; until it has stopped for something. */
static void a_look_ends_where_the_tracer_lets_it_go_on(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	struct shown shown = { .alone = true };
	struct space *space;
	struct tracee *t;
	pid_t pid;
	int go;

	(void)state;
	space = begin(&tracer, &pid, &go);
	t = map_get(&tracer.tracees, (uint64_t)pid);
	hold_look(&tracer, space, show, &shown);
	assert_int_equal(shown.n, 1);
	assert_false(hold_has_rest(space));
	assert_int_equal(write(go, "x", 1), 1);
	run_on();
	assert_true(hold_rest(&tracer, space, 5000));
	assert_false(t->held);
	run_on();
	hold_end(&tracer, space, NULL);
	/* A signal that does nothing. */
	assert_int_equal(kill(pid, SIGWINCH), 0);
	while (!hold_has_rest(space)) {
		tracer_poll(&tracer, 1);
		usleep(100);
	}
	assert_true(hold_rest(&tracer, space, 5000));
	assert_true(t->held);
	hold_end(&tracer, space, NULL);
	run_on();
	end(&tracer, pid, go);
}

/* Nor is it left alone who was refused, runs by then, or was looked at before the breakpoints were out for a while. */
static void others_are_held(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	struct shown shown = { .alone = false };
	struct space *space;
	struct tracee *t;
	pid_t pid;
	int go;

	(void)state;
	space = begin(&tracer, &pid, &go);
	t = map_get(&tracer.tracees, (uint64_t)pid);
	hold_look(&tracer, space, show, &shown);
	assert_int_equal(shown.n, 1);
	assert_true(hold_has_rest(space));
	shown.alone = true;
	hold_look(&tracer, space, show, &shown);
	assert_false(hold_has_rest(space));
	hold_forget_looks(space);
	assert_true(hold_has_rest(space));
	assert_int_equal(write(go, "x", 1), 1);
	run_on();
	hold_look(&tracer, space, show, &shown);
	assert_int_equal(shown.n, 2);
	assert_true(hold_rest(&tracer, space, 5000));
	assert_true(t->held);
	hold_end(&tracer, space, NULL);
	run_on();
	end(&tracer, pid, go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_look_ends_where_the_tracer_lets_it_go_on),
		cmocka_unit_test(others_are_held),
	};

	alarm(LIMIT_S);
	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
