/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of places. */

#ifndef UBP_DWARF_PLACES_H
#define UBP_DWARF_PLACES_H

#include "engine/dwarf/dwarf_priv.h"

void dw_fill_place(struct dwarf *d, Dwarf_Die *scope, Dwarf_Addr addr, const char *file,
		   unsigned line, struct dwarf_place *ret_place);
/* Places that are no code of the file are left out. */
int dw_add_place(struct dwarf *d, struct dwarf_places *places, const struct dwarf_place *place,
		 struct ubp_err *err);
/* By address, each once. */
void dw_sort_places(struct dwarf_places *places);

#endif
