/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a variable, or a part of one, is at a place: for the files of this room. */

#ifndef UBP_DWARF_VARIABLES_H
#define UBP_DWARF_VARIABLES_H

#include "engine/dwarf/variable_access.h"

/*
 * What @text names, as dwarf_value() takes it; references are followed. Errors as of that, but a record
 * or an array is found like all else.
 */
int variables_find(struct dwarf *d, const struct dwarf_place *place, const char *text,
		   size_t len, struct part *ret_part, struct ubp_err *err);

#endif
