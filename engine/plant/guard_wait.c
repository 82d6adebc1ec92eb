/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/guard_wait.h"

#include <errno.h>
#include <time.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/plant/guard_state.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/process.h"

#define HOLD_MS 20
/*
 * Until nobody is in the guard any more: whoever runs needs some microseconds, and a processor. All are stopped for each
 * look, so they are left alone longer from one to the next; half a second in all. Behind that somebody is in it again and
 * again: a thread that changes its signal actions all the time comes by the jumps to the guard, which needs nothing that
 * is changed now. Only who is stopped in there is not waited for: it may be in the handler, for any time.
 */
#define FIRST_WAIT_NS 500000L
#define LOOKS_MAX     10
#define STOP_TRIES    20

/*
 * The stub lies in front of the guard, and is none of it: who comes out of a remote call of the killed tracer needs its own
 * frame and this code, which is the same for all of one version.
 */
static bool is_in_stub(const struct space *space, uint64_t at)
{
	return at - UBP_AREA_STUB < space->arch->stub.len ||
	       at - UBP_AREA_BATCH < space->arch->stub.batch.len;
}

static bool is_in_guard(const struct tracee *t)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	uint64_t pc;

	return t->held && hold_get_pc(t, &pc) == 0 && pc - ps->areas->vaddr < UBP_AREA_TABLE &&
	       !is_in_stub(space, pc - ps->areas->vaddr);
}

/* Somebody who is held, and in the guard; one in a group stop before all others. */
static const struct tracee *find_in_guard(const struct space *space)
{
	const struct tracee *found = NULL;

	for (struct tracee *t = NULL; (t = space_next(space, t));)
		if (is_in_guard(t) && (!found || t->listening))
			found = t;
	return found;
}

static void wait_a_while(unsigned *looks)
{
	const struct timespec a_while = { .tv_nsec = FIRST_WAIT_NS << (*looks)++ };

	(void)nanosleep(&a_while, NULL);
}

static int stays(pid_t pid, pid_t tid, struct ubp_err *err)
{
	return ubp_fail(
		err, EBUSY,
		"process %d: thread %d is in what an earlier ubp left, and does not go on",
		(int)pid, (int)tid);
}

/* @t itself, which is held. */
static int wait_for_own(const struct held *held, unsigned *looks, struct ubp_err *err)
{
	struct tracee *t = held->t;
	int rc;

	while (is_in_guard(t)) {
		if (t->listening)
			return stays(t->process->pid, held->tid, err);
		if (*looks == LOOKS_MAX)
			return 0;
		attach_let_go(t);
		wait_a_while(looks);
		rc = 0;
		for (int k = 0; k < STOP_TRIES && rc == 0; k++)
			rc = attach_hold(held->tracer, t);
		if (rc == 1 && !held_lasts(held)) {
			attach_let_go(t);
			rc = -ESRCH;
		}
		if (rc != 1)
			return ubp_fail(err, rc ? ESRCH : ETIMEDOUT,
					"thread %d could not be stopped", (int)held->tid);
	}
	return 0;
}

int guard_wait(const struct held *held, struct ubp_err *err)
{
	struct tracee *t = held->t;
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	unsigned looks = 0;
	const struct tracee *inside;
	bool all, stopped;
	pid_t pid = t->process->pid, tid;
	int rc;

	if (!guard_is_taken_over(ps))
		return 0;
	rc = wait_for_own(held, &looks, err);
	while (rc == 0) {
		all = hold_running(held->tracer, space, HOLD_MS);
		inside = find_in_guard(space);
		tid = inside ? inside->tid : 0;
		stopped = inside && inside->listening;
		hold_end(held->tracer, space, held);
		if (stopped)
			return stays(pid, tid, err);
		if ((all && !tid) || looks == LOOKS_MAX)
			return 0;
		wait_a_while(&looks);
	}
	return rc;
}
