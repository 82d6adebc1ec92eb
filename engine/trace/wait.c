/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Waiting for stops.
 *
 * A blocking wait for any of N tracees walks all of them, twice (33 times the
 * price of a kernel uprobe at 1000 threads). A hot thread stops again within
 * microseconds, so the threads that stopped last are asked by their ids first,
 * giving the CPU away in between; only when none of them comes does the tracer
 * block. So that a few hot threads cannot starve the others, a few cold ones are
 * asked by id every now and then.
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/base/again.h"
#include "engine/event/clock.h"
#include "engine/trace/reaper.h"
#include "engine/trace/tracer.h"

#define LOOK (WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD)

#define SPINS                                                                                  \
	200 /* looks at the hot threads before blocking: longer than an idle
			 * processor takes to wake up */
#define SPIN_NS        500000ULL     /* ... and no longer */
#define CROWDED_NS     1000000ULL    /* a turn of others that takes so long ... */
#define CROWDED_FOR_NS 1000000000ULL /* ... is not offered again so soon */
#define NAP_LEAST_NS   10000 /* where it is not offered: as long as was waited by then */
#define NAP_MOST_NS    100000
#define SWEEP_EVERY    16 /* hot stops between two sweeps */
#define SWEEP_WIDTH    4  /* cold threads per sweep */

void wait_fill(struct stop *stop, const siginfo_t *si)
{
	*stop = (struct stop){ .tid = si->si_pid };
	if (si->si_code == CLD_EXITED) {
		stop->exited = true;
		stop->wait_status = (si->si_status & 0xff) << 8;
	} else if (si->si_code == CLD_KILLED || si->si_code == CLD_DUMPED) {
		stop->exited = true;
		stop->wait_status = si->si_status | (si->si_code == CLD_DUMPED ? 0x80 : 0);
	} else {
		stop->sig = si->si_status & 0xff;
		stop->event = si->si_status >> 8;
	}
}

/* A few of the threads that are not hot, in turn. */
static bool sweep(struct tracer *tracer, struct stop *ret_stop)
{
	for (unsigned i = 0; i < SWEEP_WIDTH; i++) {
		struct tracee *t;
		void *value;

		if (!map_next(&tracer->tracees, &tracer->sweep_pos, NULL, &value)) {
			tracer->sweep_pos = 0;
			return false;
		}
		t = value;
		if (!t->held && wait_look(t->tid, ret_stop) == 1)
			return true;
	}
	return false;
}

static bool look_at_hot(struct tracer *tracer, struct stop *ret_stop)
{
	for (unsigned i = 0; i < tracer->n_hot; i++) {
		unsigned at = (tracer->next_hot + i) % tracer->n_hot;

		if (wait_look(tracer->hot[at]->tid, ret_stop) == 1) {
			tracer->next_hot = at + 1;
			return true;
		}
	}
	return false;
}

static bool woken(struct tracer *tracer)
{
	return __atomic_load_n(&tracer->mailed, __ATOMIC_ACQUIRE) != 0;
}

static bool block(struct tracer *tracer, struct stop *ret_stop)
{
	siginfo_t si;

	for (;;) {
		if (woken(tracer))
			return false;
		si.si_pid = 0;
		if (again_waitid(P_ALL, 0, &si, LOOK) == 0)
			break;
		if (errno == EINTR)
			continue;
		/* Nothing is traced, not even the waker; or there is no way to wait. */
		if (errno != ECHILD)
			tracer->wait_code = errno;
		return false;
	}
	wait_fill(ret_stop, &si);
	return true;
}

/*
 * Give the processor away to the thread that is waited for, unless others want it
 * so badly that it takes long to come back: false, for a while.
 */
static bool yield(uint64_t *start)
{
	static __thread uint64_t crowded_until;
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), back;

	if (*start == 0)
		*start = now;
	if (now < crowded_until || now - *start > SPIN_NS)
		return false;
	sched_yield();
	back = event_clock_now(CLOCK_KIND_MONO);
	if (back - now > CROWDED_NS)
		crowded_until = back + CROWDED_FOR_NS;
	return true;
}

static bool wait_long(struct tracer *tracer, struct stop *ret_stop)
{
	uint64_t start;

	if (reaper_next(tracer->reaper, ret_stop))
		return true;
	if (tracer->n_hot && ++tracer->hits_since_sweep >= SWEEP_EVERY) {
		tracer->hits_since_sweep = 0;
		if (sweep(tracer, ret_stop))
			return true;
	}
	start = 0;
	for (unsigned i = 0; i < SPINS && tracer->n_hot; i++) {
		if (woken(tracer))
			return false;
		if (look_at_hot(tracer, ret_stop))
			return true;
		if (!yield(&start))
			break;
	}
	tracer->n_hot = 0;
	tracer->ops->idle(tracer->ctx);
	return block(tracer, ret_stop);
}

bool wait_any(struct tracer *tracer, struct stop *ret_stop)
{
	bool got;

	reaper_waiting(tracer->reaper);
	got = wait_long(tracer, ret_stop);
	reaper_working(tracer->reaper);
	return got;
}

void wait_a_little(uint64_t *start)
{
	uint64_t passed;

	if (yield(start))
		return;
	/* A stop takes microseconds, or somebody has to get a processor first. */
	passed = event_clock_now(CLOCK_KIND_MONO) - *start;
	nanosleep(&(struct timespec){ .tv_nsec = passed < NAP_LEAST_NS  ? NAP_LEAST_NS
						 : passed > NAP_MOST_NS ? NAP_MOST_NS
									: (long)passed },
		  NULL);
}

int wait_look(pid_t tid, struct stop *ret_stop)
{
	siginfo_t si;

	si.si_pid = 0;
	if (again_waitid(P_PID, (id_t)tid, &si, LOOK | WNOHANG) < 0)
		return errno == ECHILD ? -ESRCH : -errno;
	if (si.si_pid == 0)
		return 0;
	wait_fill(ret_stop, &si);
	return 1;
}

bool wait_poll(struct stop *ret_stop)
{
	siginfo_t si;

	si.si_pid = 0;
	if (waitid(P_ALL, 0, &si, LOOK | WNOHANG) < 0 || si.si_pid == 0)
		return false;
	wait_fill(ret_stop, &si);
	return true;
}

int wait_one(pid_t tid, unsigned limit_ms, struct stop *ret_stop)
{
	uint64_t start = event_clock_now(CLOCK_KIND_MONO), spin = start;
	int rc;

	/* There is no wait with a time limit; a stop usually takes microseconds. */
	while ((rc = wait_look(tid, ret_stop)) == 0) {
		if (event_clock_now(CLOCK_KIND_MONO) - start > limit_ms * 1000000ULL ||
		    again_is_hopeless())
			return 0;
		wait_a_little(&spin);
	}
	return rc;
}

void tracer_consume_stop(pid_t tid)
{
	siginfo_t si;

	/* Not WEXITED: killed meanwhile, its end must still be reported. */
	(void)again_waitid(P_PID, (id_t)tid, &si, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
}

void wait_note_hot(struct tracer *tracer, struct tracee *t)
{
	for (unsigned i = 0; i < tracer->n_hot; i++)
		if (tracer->hot[i] == t)
			return;
	if (tracer->n_hot < TRACER_HOT)
		tracer->hot[tracer->n_hot++] = t;
	else
		tracer->hot[tracer->next_hot++ % TRACER_HOT] = t;
}

void wait_forget(struct tracer *tracer, const struct tracee *t)
{
	for (unsigned i = 0; i < tracer->n_hot; i++)
		if (tracer->hot[i] == t)
			tracer->hot[i--] = tracer->hot[--tracer->n_hot];
}
