/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Who is in a detour, while all threads of a space stand still. */

#ifndef UBP_PLANT_JUMP_WHO_H
#define UBP_PLANT_JUMP_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/os/maps.h"

struct plant_space;
struct site_jump;
struct space;
struct tracer;

/*
 * Whose detours somebody is in, or will come back to from a signal handler. By then no jump leads there: who is seen
 * elsewhere does not come there any more, unless the tracer lets it go on from a breakpoint's stop.
 */
struct who {
	struct space *space;
	struct plant_space *ps; /* .space's */
	struct maps maps;
	bool known;     /* where all are, so far */
	bool recording; /* one who records just now */
	bool all;       /* those that run were stopped, all of them */
};

/*
 * All threads stand still that were not seen elsewhere, until hold_end(); each jump's .in_use tells. Where return addresses
 * are about to be put back (@puts_back), all that run: a look before says nothing then, for one that wakes up may go on on the
 * stack of a coroutine, and return there. The caller keeps @space (space_keep()).
 */
void who_hold(struct tracer *tracer, struct space *space, bool puts_back, struct who *ret_who);
/* True: one records, or nobody knows. */
bool who_end(struct who *who);
/* Is somebody in it, or about to return to it? */
bool who_uses(const struct plant_space *owner, const struct site_jump *jump);
/* A thread's own pc, and any other address that it may come back to (stack_words()); @ctx: a struct plant_space. */
void who_note_pc(struct plant_space *owner, uint64_t pc);
void who_note_word(void *ctx, uint64_t vaddr);

#endif
