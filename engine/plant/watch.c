/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Breakpoints on unwinders rest while nothing of ours is on a stack: a program that throws
 * exceptions does so at full speed, also when it has return probes that are never hit, and
 * when their tracer was killed.
 *
 * Those where an unwinder begins wake before the first return address is replaced. The
 * tracer knows of each that it replaces; detours replace them by themselves, so that return probes
 * are made jumps only once the breakpoints stand. Those where an unwinder ends, or is resumed,
 * wake when one is in the middle of frames of ours. Both go to rest again when they were met in vain for a while.
 */

#include "engine/plant/watch.h"

#include <errno.h>
#include <stddef.h>

#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/site.h"
#include "engine/returns/hijack.h"
#include "engine/returns/returns.h"
#include "engine/space/part.h"
#include "engine/space/space.h"
#include "engine/space/watch_part.h"
#include "engine/trace/hold.h"
#include "engine/trace/process.h"

#define OF_UNWINDERS                                                                           \
	(WATCH_UNWIND | WATCH_RESUME | WATCH_LANDS | WATCH_UNWOUND | WATCH_CATCH |             \
	 WATCH_OWN_STACK)

#define VAIN_MAX 16

bool watch_is_unwinders(const struct site *site)
{
	return site->watches && !(site->watches & ~(unsigned)OF_UNWINDERS) &&
	       !site_is_probed(site);
}

/* What is resumed has begun before: if it met nothing of ours then, there is nothing now. */
static bool is_begin(const struct site *site)
{
	return site->watches & WATCH_UNWIND && !(site->watches & WATCH_RESUME);
}

static bool is_awake(const struct plant_space *ps, const struct site *site)
{
	return is_begin(site) ? ps->watch->begins_awake : ps->watch->ends_awake;
}

bool watch_begins_awake(const struct plant_space *ps)
{
	return ps->watch->begins_awake;
}

void watch_begin(const struct plant_space *ps, bool are_awake)
{
	ps->watch->begins_awake = ps->watch->ends_awake = are_awake;
}

bool watch_take_woken(const struct plant_space *ps)
{
	bool has_woken = ps->watch->has_woken;

	ps->watch->has_woken = false;
	return has_woken;
}

void watch_decide(const struct plant_space *ps, struct site *site)
{
	/* A call's bell is never a breakpoint: a C library calls with all signals blocked there, and who died then would kill. */
	site->rests = !site->planted && (bell_is_call(site) || site->run_up ||
					 (watch_is_unwinders(site) && !is_awake(ps, site)));
}

bool watch_has_unwinders(const struct plant_space *ps)
{
	return plant_any_site(ps, is_begin);
}

/* All that rest, and are to be awake now. */
static int wake(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;
	struct ubp_err ignored;
	size_t pos = 0;
	void *value;
	bool any = false;
	int rc = 0;

	hold_forget_looks(space);
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (!site->rests || !watch_is_unwinders(site) || !is_awake(ps, site))
			continue;
		if (site_plant(space, tid, site, &ignored) < 0) {
			rc = -EFAULT;
			continue;
		}
		site->rests = false;
		any = true;
	}
	if (any)
		area_note_change(space, tid);
	return rc;
}

int watch_wake_begins(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;
	int rc;

	ps->watch->begins_in_vain = 0;
	if (ps->watch->begins_awake)
		return 0;
	ps->watch->begins_awake = true;
	rc = wake(space, tid);
	ps->watch->begins_awake = rc == 0;
	ps->watch->has_woken |= rc == 0;
	return rc;
}

void watch_wake_ends(struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;

	ps->watch->ends_in_vain = 0;
	if (ps->watch->ends_awake)
		return;
	ps->watch->ends_awake = true;
	/* Where one cannot stand, the stack pointer of the next hit tells. */
	(void)wake(space, tid);
}

/* Who meets one meanwhile still finds its site. */
static void put_to_rest(struct space *space, pid_t tid)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		struct site *site = value;

		/* A jump costs next to nothing, and stays. */
		if (!site->planted || !watch_is_unwinders(site) || is_awake(ps, site) ||
		    site->rung == SITE_JUMPED)
			continue;
		if (site_unplant(space, tid, site) < 0)
			continue; /* once more when it would rest again */
		site->planted = false;
		site->rests = true;
	}
}

static bool is_unwinding(const struct space *space)
{
	for (const struct tracee *t = NULL; (t = space_next(space, t));)
		if (t->probes->n_unwinders || t->probes->disarmed.n)
			return true;
	return false;
}

const char *watch_why_traced(const struct space *space)
{
	const struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	if (is_unwinding(space))
		return "an unwinder is at work in it";
	if (!returns_n(ps) && !hijack_place(ps).table)
		return NULL;
	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		if (is_begin(site) && (site->rests || site->rung != SITE_JUMPED))
			return "an unwinder of it has no jump";
	}
	return NULL;
}

void watch_met(struct tracee *t, const struct site *site)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	bool begins = is_begin(site);

	if (t->probes->n_unwinders || ps->closing) {
		ps->watch->begins_in_vain = ps->watch->ends_in_vain = 0;
		return;
	}
	if (begins && !returns_n(ps) && !hijack_place(ps).table &&
	    ++ps->watch->begins_in_vain >= VAIN_MAX) {
		ps->watch->begins_in_vain = 0;
		ps->watch->begins_awake = false;
		put_to_rest(space, t->tid);
	}
	if (!begins && ++ps->watch->ends_in_vain >= VAIN_MAX) {
		ps->watch->ends_in_vain = 0;
		ps->watch->ends_awake = is_unwinding(space);
		put_to_rest(space, t->tid);
	}
}

int watch_copy(const struct part_copied *c)
{
	c->to->watch->begins_awake = c->from->watch->begins_awake;
	c->to->watch->ends_awake = c->from->watch->ends_awake;
	return 0;
}
