/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "ring" of what is known of an address space: rings that are mapped there, and what detours may read.
 *
 * Owner: engine/plant/rings.c, ring_ranges.c, rings_size.c and claims.c, which alone look inside. It is made with the other parts
 * (plant_space_get()) and has no rings then: they come with the first jump (rings_provide()), and are closed when the space
 * is forgotten. A copy that fork() makes has none.
 */

#ifndef UBP_SPACE_RING_PART_H
#define UBP_SPACE_RING_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/map.h"

struct ring_space;

struct space_rings {
	struct ring_space *rings; /* NULL: none */
	uint64_t base;            /* vaddr; 0: none mapped */
	size_t ring_bytes;        /* of each */
	size_t mapped;            /* bytes from there on that the target has mapped ... */
	size_t most;              /* ... and how many that may become */
	int32_t self_at;          /* detour_plan.self_at */
	int64_t cpu_off;          /* of ring_offer */
	uint64_t claim_code;      /* detour_plan.claim */
	uint64_t claim_room; /* where that was written, by an earlier session too; 0: nowhere */
	bool offers;         /* threads may make claims */
	bool is_alone;       /* nobody traces it, or is about to */
	pid_t whose;         /* of whom is known whether it ... */
	bool is_below;       /* ... lives in a pid namespace below ours */
	bool is_full;        /* no more of them can be mapped */
	struct map thread_pointers; /* -> tid that has a ring by it, RINGS_SHARED: several */
	uint64_t *ranges;           /* what detours may read (base/ring.h) */
	size_t n_ranges;
	uint64_t ranges_ns; /* when that was looked at last */
	bool is_distrusted; /* they may read none of it now (ring_ranges.c) */
	size_t spare; /* rings for threads that may come while nobody traces it; 0: it never was so ... */
	uint64_t
		spare_missed; /* ... and how many hits were missed before it was so last (ring_head.missed) */
};

#endif
