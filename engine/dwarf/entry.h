/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where functions and their inlined copies begin. */

#ifndef UBP_DWARF_ENTRY_H
#define UBP_DWARF_ENTRY_H

#include "engine/dwarf/dwarf_priv.h"

/* The first instruction of a function, or of an inlined copy. False: it has no code. */
bool dw_entry(struct dwarf *d, Dwarf_Die *die, Dwarf_Addr *ret_addr);

/* Is it what is left of a function whose beginning was inlined ("f.part.0")? Nobody calls that as f. */
bool dw_is_rest(struct dwarf *d, Dwarf_Addr addr);

#endif
