/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/bell.h"

#include "engine/base/map.h"
#include "engine/event/ring.h"
#include "engine/plant/site.h"
#include "engine/space/ring_part.h"
#include "engine/space/space.h"

bool bell_is_one(const struct site *site)
{
	return site->watches & WATCH_ASKS && !site_is_probed(site) &&
	       !(site->watches & ~(unsigned)(WATCH_ASKS | WATCH_LOADER));
}

bool bell_is_call(const struct site *site)
{
	return bell_is_one(site) && !(site->watches & WATCH_LOADER);
}

/* An exec is seen in any case, though later (trace/alone_watch.h). */
const char *bell_why_not(const struct plant_space *ps)
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		if (site->watches & WATCH_LOADER && site->planted && site->rung != SITE_JUMPED)
			return "its loader has no jump to tell of libraries";
	}
	return NULL;
}

const uint64_t *bell_word(const struct plant_space *ps)
{
	return ps->ring->rings ? ring_space_bell(ps->ring->rings) : NULL;
}
