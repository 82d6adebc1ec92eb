/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A pass of upgrades (jump.h), for the files that carry it out. */

#ifndef UBP_PLANT_JUMP_PRIV_H
#define UBP_PLANT_JUMP_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "engine/plant/jump.h"

struct area;
struct patches;
struct plant;
struct plant_space;
struct site;
struct space;

/*
 * What is written for a jump of the common kind, which is no run-up and no call, and leads to the detour itself or to a hop in memory of ours
 * that stands already: found out by jump_get_ready() while all run. So who writes very many, with all held, goes through these, and not
 * through sites and jumps, which lie far from each other.
 */
struct jump_writing {
	uint64_t slot; /* of the site */
	uint64_t copy; /* what the slot leads to; 0: it stays as it is */
	uint8_t bytes[UBP_INSN_MAX];
	uint8_t len;    /* of .bytes */
	bool is_common; /* it is of that kind: all of this is known */
	bool is_begun;  /* site_jump.is_begun, until the jump is given up or stands */
};

struct jump_try {
	uint64_t vaddr; /* of .site */
	struct site *site;
	struct site_jump *jump; /* NULL: given up */
	struct jump_writing writing;
	bool is_written; /* by this pass, and not counted yet: jump_count_written() */
	bool is_built;   /* by this pass: it was not there before */
	/* Of the site, found out before a thread is held to provide for it: */
	bool needs_table; /* it has to do with return addresses that are replaced */
	bool needs_pun;   /* its jump is a punned one */
	uint32_t guess;   /* bytes that its block may take */
};

struct jump_batch {
	struct jump_try *tries;
	size_t n;
	struct batch_area {
		uint64_t lo, hi;   /* of the object */
		uint64_t until;    /* so far it is for the tries in it */
		struct area *area; /* NULL: none is to be had */
	} * areas;
	size_t n_areas;
	unsigned n_buried; /* of the space's sites, when it was collected */
	bool has_stale;    /* some were made before, for others' probes */
	bool has_spares;   /* some are to have blocks that were others' (spare.h) */
};

/* A try that is not to be made now; it is due again. */
void jump_put_off(struct plant_space *ps, struct jump_try *try, const char *why);
/* What can be found out, and written, before threads are held for jump_write_steps(). */
void jump_get_ready(const struct space *space, struct jump_batch *batch);
/* Nobody is held any more. */
void jump_count_written(struct jump_batch *batch);
/* All of @batch's jumps are written. All threads are held, and in nobody's way. What cannot be written is put off. */
void jump_write_steps(struct space *space, struct jump_batch *batch);

/* The limit of hold_running() and hold_all(). */
#define JUMP_HOLD_MS 20

/* It stays a breakpoint, for good. @why: NULL, or a text that stays. */
void jump_refuse(struct site *site, const char *why);
/* Why @site is a breakpoint for now: what is told of it until it is a jump. */
void jump_tell_why(const struct site *site, const char *why);

/* A copy of a reason, kept as long as the session. */
const char *jump_keep_reason(struct plant *plant, const char *text);

/* There was no memory: all that is no jump yet is due again, after a while. */
void jump_later(struct plant_space *ps);

/* The breakpoints in its detour are known to be @site's: 0 or -ENOMEM; and known no more. */
int jump_note_traps(struct plant_space *ps, struct site *site, const struct site_jump *jump);
void jump_forget_traps(struct plant_space *ps, const struct site_jump *jump);

/*
 * What stands at @site, whose jump was made, perhaps written in part or whole, is a breakpoint again, and its slot is for one
 * instruction. Its threads that run are held. 0 or -errno: it is as it was, or in between.
 */
int jump_to_breakpoint(const struct space *space, struct site *site);

/* jump_copies.c */
/* Copies of functions go on without us: their rets are made rets that tell nothing. @only_used: of those that somebody is in. */
void jump_disarm_copies(const struct plant_space *owner, bool only_used,
			struct patches *patches);
/*
 * All jumps of @space are out, and who runs is held: who is in a copy of a function goes on in the function, at the same instruction, with the same registers. Not at
 * its start, where a breakpoint may stand by now for a hit that was told.
 */
void jump_leave_copies(const struct space *space);

#endif
