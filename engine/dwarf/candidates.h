/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a line begins: in each function and inlined copy once. */

#ifndef UBP_DWARF_CANDIDATES_H
#define UBP_DWARF_CANDIDATES_H

#include "engine/dwarf/dwarf_priv.h"

/*
 * Of each function and inlined copy the lowest address; of each block of it, because loops that
 * were unrolled and the like have a line several times. Zero-initialise.
 */
struct dw_candidates {
	struct map by_block; /* DIE -> struct candidate */
	struct map scopes;   /* DIEs of functions and inlined copies that have some */
};

bool dw_is_candidate(const struct dw_candidates *candidates, const Dwarf_Die *scope);
int dw_add_candidate(struct dwarf *d, struct dw_candidates *candidates, const Dwarf_Die *scope,
		     Dwarf_Addr addr, const char *file, unsigned line, struct ubp_err *err);
/* They become places, by address. */
int dw_take_candidates(struct dwarf *d, struct dw_candidates *candidates,
		       struct dwarf_places *places, struct ubp_err *err);
void dw_free_candidates(struct dw_candidates *candidates);

/* Lines with code on both sides of one that has none. Zero-initialise. */
struct dw_near_lines {
	unsigned below, above;
	bool has_below, has_above;
};

void dw_near_line(struct dw_near_lines *near, unsigned wanted, unsigned line);
/* "; 13 and 15 have", or "". */
void dw_near_text(const struct dw_near_lines *near, char *text, size_t size);

#endif
