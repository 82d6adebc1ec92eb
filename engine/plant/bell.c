/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/bell.h"

#include "engine/base/map.h"
#include "engine/event/ring.h"
#include "engine/event/ring_alone.h"
#include "engine/plant/rings.h"
#include "engine/plant/site.h"
#include "engine/space/space.h"

bool bell_is_one(const struct site *site)
{
	return site->watches & WATCH_ASKS && !site_is_probed(site) &&
	       !(site->watches & ~(unsigned)(WATCH_BELLS | WATCH_LOADER));
}

bool bell_is_probed(const struct site *site)
{
	return site->n_probes && site->watches & WATCH_ASKS &&
	       !(site->watches & ~(unsigned)WATCH_BELLS);
}

bool bell_is_call(const struct site *site)
{
	return bell_is_one(site) && !(site->watches & (WATCH_LOADER | WATCH_PAIR));
}

/*
 * A C library makes processes at three places at least: in fork(), vfork() and clone(). Where fewer are known, there are some in a form
 * that was not looked for.
 */
#define BIRTHS_LEAST 3

/* An exec is seen in any case, though later (trace/alone_watch.h). */
const char *bell_why_not(const struct plant_space *ps, bool follows)
{
	unsigned n_births = 0;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		if (!(site->watches & (WATCH_LOADER | WATCH_FORKS)))
			continue;
		if (site->watches & WATCH_LOADER && site->planted && site->rung != SITE_JUMPED)
			return "its loader has no jump to tell of libraries";
		if (site->watches & WATCH_FORKS && site->rung != SITE_JUMPED)
			return "a call of it that makes processes has no jump";
		n_births += site->watches & WATCH_FORKS ? 1 : 0;
	}
	return follows && n_births < BIRTHS_LEAST ? "its children would not be seen" : NULL;
}

const uint64_t *bell_word(const struct plant_space *ps)
{
	return rings_of(ps) ? ring_space_bell(rings_of(ps)) : NULL;
}

uint64_t bell_count(const struct plant_space *ps)
{
	const uint64_t *word = bell_word(ps);

	return word ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;
}

const uint64_t *bell_missed(const struct plant_space *ps)
{
	return rings_of(ps) ? ring_space_missed(rings_of(ps)) : NULL;
}

uint64_t bell_take_in_vain(const struct plant_space *ps)
{
	return rings_of(ps) ? ring_space_take_in_vain(rings_of(ps)) : 0;
}

bool bell_waits(const struct plant_space *ps)
{
	return rings_of(ps) && ring_space_waits(rings_of(ps));
}
