/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/wait.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/base/again.h"
#include "engine/event/clock.h"

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

/* Are there others than the one that we run on? It takes a while to ask, and hardly ever changes. */
static bool has_processors(void)
{
	static __thread int known;
	cpu_set_t set;

	if (!known)
		known = sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1 ? 1
											   : -1;
	return known > 0;
}

bool wait_is_short(uint64_t *start)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (*start == 0)
		*start = now;
	return has_processors() && now - *start < SPIN_NS;
}

void wait_a_little(uint64_t *start)
{
	uint64_t nap;

	if (wait_is_short(start))
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
