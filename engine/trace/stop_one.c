/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread to poke memory through, where /proc/PID/mem may not be written. */

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define STOP_LIMIT_MS 200 /* for one thread */
#define TRIES_MAX     8

static bool is_stopped(pid_t tid)
{
	siginfo_t si;

	/* EINVAL: in a group stop. */
	return again_ptrace(PTRACE_GETSIGINFO, tid, 0, &si) == 0 || errno == EINVAL;
}

/* The next of the threads of @space, by turns those held, any, those that run, any. */
enum turn { TURN_HELD, TURN_STOPPED, TURN_RUNNING, TURN_ANY };

static bool is_asleep(pid_t tid)
{
	uint64_t pc, sp;

	return task_asleep(tid, &pc, &sp);
}

/*
 * Whatever it stops for, the stop is left to be found by who waits next: that lets it go on,
 * and has a system call that was broken off made again.
 */
static bool try_stop(struct tracee *t)
{
	struct stop stop;

	if (again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
		return false;
	t->want_interrupt = true;
	return wait_one(t->tid, STOP_LIMIT_MS, &stop) == 1 && !stop.exited;
}

pid_t stop_one(void *ctx, const void *space)
{
	int tries = 0;

	(void)ctx;

	for (enum turn turn = TURN_HELD; turn <= TURN_ANY; turn++) {
		struct tracee *t = NULL;

		while (tries < TRIES_MAX && (t = space_next(space, t))) {
			if ((turn == TURN_HELD && !t->held) ||
			    (turn == TURN_RUNNING && is_asleep(t->tid)))
				continue;
			if (is_stopped(t->tid))
				return t->tid;
			if (turn >= TURN_RUNNING && ++tries && try_stop(t))
				return t->tid;
		}
	}
	return 0;
}
