/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a variable is at an address: DW_AT_location and the like, as sums. */

#ifndef UBP_DWARF_LOCATION_H
#define UBP_DWARF_LOCATION_H

#include "engine/dwarf/location_pieces.h"

/* @scopes as of dw_scopes_at(). -ENOENT: @elf_vaddr is no byte of the file. */
int location_at_init(struct location_at *at, struct dwarf *d, uint64_t elf_vaddr,
		     Dwarf_Die *scopes, size_t n_scopes, struct ubp_err *err);

/*
 * Where @variable is: by its DW_AT_location or DW_AT_const_value. -ENODATA: optimised out here,
 * with where it has a value; -ENOTSUP: an operation that no fetch arg can do. Texts speak of
 * @name.
 */
int location_of(const struct location_at *at, Dwarf_Die *variable, const char *name,
		struct location *ret_location, struct ubp_err *err);

#endif
