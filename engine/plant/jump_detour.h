/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The detour of a site, and its jump, generated for a place in an area. Nothing of it is written yet. */

#ifndef UBP_PLANT_JUMP_DETOUR_H
#define UBP_PLANT_JUMP_DETOUR_H

#include <stdint.h>

#include "engine/trace/mem.h"

struct detour_like;
struct plant;
struct site;
struct site_jump;
struct space;
struct ubp_err;

/* What all detours of a batch are made with. */
struct jump_maker {
	struct plant *plant;
	struct space *space;
	struct mem_view view; /* of the program's code */
	struct detour_like *like;
	uint32_t cell; /* of a ring, for the next probe */
};

/*
 * The detour of @site as it is probed now, for a copy at @vaddr, in jump->detour, and all else of *jump, which is zeros before, but its
 * room. Returns 0, or -errno with the reason in *err.
 */
int jump_make_detour(struct jump_maker *maker, struct site *site, uint64_t vaddr,
		     struct site_jump *jump, struct ubp_err *err);

#endif
