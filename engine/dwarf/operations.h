/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* DWARF expressions, carried out on sums. */

#ifndef UBP_DWARF_OPERATIONS_H
#define UBP_DWARF_OPERATIONS_H

#include "engine/dwarf/location_pieces.h"

/* @attr is what @ops come from. Errors as location_of(). */
int operations_run(const struct location_at *at, Dwarf_Attribute *attr, Dwarf_Op *ops,
		   size_t n_ops, const char *name, struct location *ret_location,
		   struct ubp_err *err);

#endif
