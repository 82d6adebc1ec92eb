/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "guard" of what is known of an address space: what keeps the processes in it alive if ubp is killed, and what an
 * earlier ubp left there.
 *
 * Owner: engine/plant/guard_state.c and guard.c, which alone look inside. It is made with the other parts
 * (plant_space_get()): nothing is known then. The guard's data are provided when something is planted, or are those of an
 * earlier ubp. A copy that fork() makes has its parent's. It is forgotten with the space.
 */

#ifndef UBP_SPACE_GUARD_PART_H
#define UBP_SPACE_GUARD_PART_H

#include <stdbool.h>
#include <stdint.h>

struct space_guard {
	uint64_t data;          /* of the guard (struct guard_data); 0: none */
	bool looked;            /* for what a killed tracer has left */
	bool is_taken_over;     /* it had left a guard */
	bool is_settled;        /* all in the memory have the guard: who is born, too */
	unsigned n_leftovers;   /* breakpoints that a killed tracer had left, taken out */
	unsigned n_left_raised; /* reference counters, decremented */
	bool unguarded;         /* --force: nothing could be mapped for some site ... */
	const char *no_room;    /* ... for this reason; NULL: that is not why */
};

#endif
