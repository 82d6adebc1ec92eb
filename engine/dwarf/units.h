/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Units of a file's DWARF, and the code that is theirs. */

#ifndef UBP_DWARF_UNITS_H
#define UBP_DWARF_UNITS_H

#include "engine/dwarf/dwarf_priv.h"

/* .units and .ranges. */
int dw_read_units(struct dwarf *d, struct ubp_err *err);

/* The unit whose code @elf_vaddr is, or NULL. */
struct dw_unit *dw_unit_at(struct dwarf *d, uint64_t elf_vaddr);

/* The unit that a DIE is in, or NULL. */
struct dw_unit *dw_unit_of(struct dwarf *d, const Dwarf_Die *die);

/* Code of a DIE. Stops when @each returns non-zero, and returns that. */
int dw_each_range(Dwarf_Die *die, int (*each)(void *ctx, Dwarf_Addr start, Dwarf_Addr end),
		  void *ctx);

#endif
