/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * One call of plant_update(): what it knows and what it has added, for the files that carry it
 * out. plant_collect.c finds out what is to be probed, plant_ahead.c does that early, plant.c
 * prepares it, plant_write.c writes it. Private to the folder.
 */

#ifndef UBP_PLANT_UPDATE_H
#define UBP_PLANT_UPDATE_H

#include "arch/arch.h"
#include "engine/os/maps.h"
#include "engine/space/return_way.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"

/* Where there is very much to be planted, nobody stands still for all of it (plant_ahead.c). */
enum update_part {
	UPDATE_ALL,
	UPDATE_GUARD, /* only the guard, and areas with room for what was found ahead */
	UPDATE_PIECE, /* some of what is ready, and more is to come */
	UPDATE_LAST,  /* the last of it */
};

struct update {
	struct plant *plant;
	struct space *space;
	pid_t tid;        /* a thread of it */
	struct held held; /* that thread; .t NULL: plant_look_ahead() */
	struct ubp_regs at;
	bool is_stopped_at; /* .at was told by the caller: the thread is in a stop of ours */
	bool is_attaching;  /* what struct plant says, which is for this call alone */
	bool in_pieces;     /* the same */
	struct maps maps;
	struct added *added; /* probes joined to sites by this call */
	size_t n_added;
	unsigned n_buried; /* of the space's sites, when all of these were some of them */
	struct ubp_err *err;
	bool has_facts; /* .facts: what goes for all return probes of the process */
	struct return_facts facts;
	struct mem_view view;
	uint64_t
		seen; /* of mappings that update_collect_probes() has gone through, with all that it found; 0: none */
	bool has_passed_over; /* it did without a probe that could not be had then */
	struct area *area;    /* the last one found, for what lies in [lo, hi) */
	uint64_t lo, hi;
	struct area_room room;     /* that was asked for it, for all new ones in there */
	struct provided *provided; /* of update_provide() */
	size_t n_provided;
	enum update_part part;
};

/* Room in an area that was mapped before it is used, for what lies in [lo, hi). */
struct provided {
	struct area *area;
	uint64_t lo, hi;
	struct area_room room;
};

struct added {
	struct site *site;
	struct uprobe *probe; /* NULL: one of our own */
	uint64_t func_vaddr; /* of .probe, if it is the function's exit that was joined; or 0 */
	unsigned watches;
	uint8_t run_up; /* it is the run-up to an exit of .probe that was joined: its bytes; or 0 */
	bool is_new;     /* the site was made for it */
	bool is_ready;   /* its slot is written, and is in the guard's table */
	bool is_written; /* the breakpoint was written for it */
};

/*
 * Of very many, what is looked at of number @i + 8 is fetched now: a program stands still meanwhile, and would for each of
 * these otherwise.
 */
static inline void added_fetch_ahead(const struct added *added, size_t n, size_t i)
{
	const struct site *site = i + 8 < n ? added[i + 8].site : NULL;

	if (!site)
		return;
	__builtin_prefetch(site);
	__builtin_prefetch(&site->foffset);
	__builtin_prefetch(&site->insn.bytes);
}

/* The probes that this process should carry and does not yet, joined to sites; nothing is
 * written. Without a thread that is held: only those that can be told by then. */
int update_collect_probes(struct update *u, struct ubp_err *err);
/* Not 0, and another if other mappings of files are there. */
uint64_t update_sum(const struct maps *maps);
/* update_collect_probes(), and sites that are watched for our own sake. The thread is held. */
int update_collect(struct update *u, struct ubp_err *err);
/* Write the breakpoints, and see that they stand; semaphores. What was written is known (.is_written) if that fails. */
int update_write(struct update *u, struct ubp_err *err);
/* Has @site's file been unmapped since? Threads of the process that stop while we wait for another may call plant_update(), too. */
bool update_is_buried(const struct update *u, const struct site *site);
/* Every process in the memory gets the guard: a thread of each is held (attach_hold_each()). -EINPROGRESS: they have it,
 * and plant_settle() is next. */
int sharers_guard(struct update *u, struct ubp_err *err);
/* Behind that. -EBUSY: somebody lives in the memory who has no guard, and cannot get it. */
int sharers_check_hidden(const struct space *space, struct ubp_err *err);
/* Slots for all new sites; still no breakpoint. Without a thread that is held: in areas of update_provide(). */
int update_prepare(struct update *u, struct ubp_err *err);
/* Only the areas, whose room is promised to these sites. What was provided is known (.provided) if that fails. */
int update_provide(struct update *u, struct ubp_err *err);
/* Begin with what plant_look_ahead() has found, if it was for this space: all of it, or a part (.part). */
void update_take_ahead(struct update *u);
/* UPDATE_GUARD: update_provide() for what was found. */
int update_provide_ahead(struct update *u, struct ubp_err *err);
/* What was found ahead does not serve: all is done at once. */
void update_drop_ahead(struct update *u);

#endif
