/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "return" of what is known of an address space: return addresses that the tracer replaced, and the table in the
 * target that tells the guard of them.
 *
 * Owner: engine/returns, which alone looks inside. It is made with the other parts (plant_space_get()) and is empty then, or
 * has what an earlier ubp left (returns_adopt()). A copy that fork() makes has its parent's. Leaving puts the addresses back;
 * all of it is freed when the space is forgotten. Who maps or finds the table and the trampoline tells it by functions
 * (returns/returns.h).
 */

#ifndef UBP_SPACE_RETURN_PART_H
#define UBP_SPACE_RETURN_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/space/thread.h"

struct space_returns {
	struct map by_slot;      /* slot_vaddr -> struct return_instance */
	struct return_list lost; /* those of no thread's list: left behind, it seems */
	size_t sweep_at;         /* so many of them: look which are still there */
	struct map indexes;      /* of the return table, + 1 -> struct return_instance */
	uint64_t kernel_return;  /* kernel.h: where uretprobes return to; 0: not known */
	struct map pages;        /* return addresses that look like it, and are none */
	uint64_t table, mask;    /* vaddr, entries - 1; 0: none */
	uint64_t over;           /* entry, + 1, of the last that is over; 0: none */
	uint64_t n_ever;         /* ever hijacked */
	uint64_t trampoline;     /* 0: no area yet */
	bool has_told;           /* plant_lost_returns() has told */
	bool wait; /* a return address may come back with its stack: the table stays */
};

#endif
