/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Places and line tables; for the files of this folder. */

#ifndef UBP_DWARF_LINES_H
#define UBP_DWARF_LINES_H

#include "engine/dwarf/dwarf_priv.h"

/* --- rows.c ----------------------------------------------------------------- */

/* One where a statement begins. */
struct dw_row {
	Dwarf_Line *line;
	Dwarf_Addr addr;
	unsigned lineno;
};

/* The rows of a unit's line table. Stops when @each returns non-zero, and returns that. */
int dw_each_row(struct dw_unit *unit, int (*each)(void *ctx, const struct dw_row *row),
		void *ctx);
/* Full path, or NULL. */
const char *dw_row_file(const struct dw_row *row);
/* The function, or inlined copy, that a row of @file is of. False: none is known. */
bool dw_row_owner(struct dwarf *d, const struct dw_row *row, const char *file,
		  Dwarf_Die *ret_die);
/*
 * Is @line the one that is told of @addr? Of several that begin there it is the first, at the
 * entry of a function that where it is declared.
 */
bool dw_is_line_of(struct dwarf *d, Dwarf_Addr addr, const char *file, unsigned line);
/* Where @function, entered at @entry, has its frame set up. */
bool dw_behind_prologue(struct dwarf *d, Dwarf_Die *function, Dwarf_Addr entry,
			Dwarf_Addr *ret_addr);

/* Where a function is declared; 0, NULL: not told. */
unsigned dw_decl_line(Dwarf_Die *die);
const char *dw_decl_file(Dwarf_Die *die);
/* Where the call stands that was inlined: 0, NULL where it is not told. */
unsigned dw_call_line(Dwarf_Die *call);
const char *dw_call_file(Dwarf_Die *call);
/* Two paths of the DWARF, either of which may be NULL. */
bool dw_same_file(const char *a, const char *b);

/* --- places.c ---------------------------------------------------------------- */

/* The first instruction of a function, or of an inlined copy. False: it has no code. */
bool dw_entry(struct dwarf *d, Dwarf_Die *die, Dwarf_Addr *ret_addr);

void dw_fill_place(struct dwarf *d, Dwarf_Die *scope, Dwarf_Addr addr, const char *file,
		   unsigned line, struct dwarf_place *ret_place);
/* Places that are no code of the file are left out. */
int dw_add_place(struct dwarf *d, struct dwarf_places *places, const struct dwarf_place *place,
		 struct ubp_err *err);
/* By address, each once. */
void dw_sort_places(struct dwarf_places *places);

/* --- candidates.c -------------------------------------------------------------- */

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
