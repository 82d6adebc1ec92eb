/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/bell_way.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "engine/base/find_bytes.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/plant/bell.h"
#include "engine/plant/outside.h"
#include "engine/plant/site.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"

/* Addresses in the program, both included; .behind: of a fork, where one is that sleeps in the kernel and has not made its child yet, or 0. */
struct way {
	uint64_t from, to, behind;
};

struct ways {
	struct way *v;
	size_t n, cap;
};

static bool leads_to_call(const struct site *site)
{
	return site->watches & WATCH_ASKS && !(site->watches & WATCH_LOADER);
}

/* The way from the jump that stands at @from to the first call behind it, where a jump does; to @from itself if there is none near by. */
static struct way way_from(const struct space *space, uint64_t from, bool is_fork)
{
	const struct ubp_arch *arch = space->arch;
	uint8_t code[UBP_SIGACTION_LOOK];
	size_t n = mem_peek(&space->mem, from, code, sizeof(code));
	struct way way = { .from = from, .to = from };

	for (size_t i = 0; n > UBP_HOP_LEN && i < 2; i++) {
		const struct ubp_known_insn *call = &arch->call.kernel_calls[i];
		const uint8_t *at = call->len ? find_bytes(code + UBP_HOP_LEN, code + n,
							   call->bytes, call->len)
					      : NULL;
		uint64_t to = at ? from + (uint64_t)(at - code) : from;

		if (!at || (way.to != from && to > way.to))
			continue;
		way.to = to;
		way.behind = is_fork ? to + call->len : 0;
	}
	return way;
}

static int find_ways(const struct space *space, struct ways *ways)
{
	size_t pos = 0;
	void *value;

	while (map_next(&space->plant->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		if (!leads_to_call(site))
			continue;
		if (VEC_ROOM(ways->v, &ways->cap, ways->n) < 0)
			return -ENOMEM;
		ways->v[ways->n++] = way_from(space, site->vaddr, site->watches & WATCH_FORKS);
	}
	return 0;
}

/*
 * On the way, or in the bell's slot or detour, whether it has looked or not. What is behind a fork's call is left on the stack where the call is one of the vDSO, and stays there
 * long after that.
 */
static bool is_on_way(const void *ctx, const struct space *space, uint64_t pc,
		      enum outside_at at)
{
	const struct ways *ways = ctx;
	const struct site *site = plant_site_of_slot(space, pc);

	for (size_t i = 0; i < ways->n; i++)
		if ((pc >= ways->v[i].from && pc <= ways->v[i].to) ||
		    (pc && pc == ways->v[i].behind && at != OUTSIDE_DEEP))
			return true;
	return site && leads_to_call(site);
}

int bell_ways_wait(struct tracer *tracer, struct space *space)
{
	struct ways ways = { 0 };
	/* A signal's handler may have been begun on the way, and returns to it. */
	const struct outside_question question = { .is_inside = is_on_way,
						   .ctx = &ways,
						   .asks_stacks = true };
	int rc = find_ways(space, &ways);

	if (rc == 0 && ways.n && !outside_wait(tracer, space, &question))
		rc = -EAGAIN;
	free(ways.v);
	return rc;
}
