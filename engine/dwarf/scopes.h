/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From an address to the DIEs that it is in. */

#ifndef UBP_DWARF_SCOPES_H
#define UBP_DWARF_SCOPES_H

#include "engine/dwarf/dwarf_priv.h"

/* The function out of line that @addr, of @unit, is in. */
bool dw_function_at(struct dwarf *d, struct dw_unit *unit, Dwarf_Addr addr, Dwarf_Die *ret_die);

/*
 * The scopes that @place is in, innermost first: blocks, inlined copies, the function, ..., the unit
 * last. Starts with place->scope, if that is known, and leaves out what is inside of it and no
 * block. Returns how many, at most @max; 0: nothing is known of it.
 */
size_t dw_scopes_at(struct dwarf *d, const struct dwarf_place *place, Dwarf_Die *scopes,
		    size_t max);

/*
 * Is a function's code optimised? If not, its variables are where they are said to be only
 * behind the prologue. Judged by the function out of line: have parameters and variables one place?
 */
bool dw_is_optimised(Dwarf_Die *function);

#endif
