/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/wait.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/base/again.h"
#include "engine/event/clock.h"

#define YIELD_NS       500000ULL     /* ... and no longer */
#define CROWDED_NS     1000000ULL    /* a turn of others that takes so long ... */
#define CROWDED_FOR_NS 1000000000ULL /* ... is not offered again so soon */

#define SPIN_NS      40000 /* looks that follow each other at once ... */
#define NAP_LEAST_NS 10000 /* ... then with naps between them, by how long was waited by then */
#define NAP_MOST_NS  100000
#define NAP_SHARE    4

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

bool wait_yield(uint64_t *start)
{
	static __thread uint64_t crowded_until;
	uint64_t now = event_clock_now(CLOCK_KIND_MONO), back;

	if (*start == 0)
		*start = now;
	if (now < crowded_until || now - *start > YIELD_NS)
		return false;
	sched_yield();
	back = event_clock_now(CLOCK_KIND_MONO);
	if (back - now > CROWDED_NS)
		crowded_until = back + CROWDED_FOR_NS;
	return true;
}

/* May this thread run on others than the processor that it is on? It follows one thread for a while (follow.h). */
static bool has_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1;
}

/* Is it too early for a nap? Never on one processor, which the thread that is waited for needs. */
static bool is_short(uint64_t *start)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (*start == 0)
		*start = now;
	return now - *start < SPIN_NS && has_processors();
}

void wait_a_little(uint64_t *start)
{
	uint64_t nap;

	if (is_short(start))
		return;
	nap = (event_clock_now(CLOCK_KIND_MONO) - *start) / NAP_SHARE;
	nanosleep(&(struct timespec){ .tv_nsec = nap < NAP_LEAST_NS  ? NAP_LEAST_NS
						 : nap > NAP_MOST_NS ? NAP_MOST_NS
								     : (long)nap },
		  NULL);
}

int wait_look(pid_t tid, struct stop *ret_stop)
{
	siginfo_t si;

	si.si_pid = 0;
	if (again_waitid(P_PID, (id_t)tid, &si, WAIT_LOOK | WNOHANG) < 0)
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
	if (waitid(P_ALL, 0, &si, WAIT_LOOK | WNOHANG) < 0 || si.si_pid == 0)
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
