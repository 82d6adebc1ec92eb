/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rows of line tables: which function, or inlined copy, a row is of. */

#ifndef UBP_DWARF_ROWS_H
#define UBP_DWARF_ROWS_H

#include "engine/dwarf/dwarf_priv.h"

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

#endif
