/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions of units. */

#ifndef UBP_DWARF_FUNCTIONS_H
#define UBP_DWARF_FUNCTIONS_H

#include "engine/dwarf/dwarf_priv.h"

/* .functions, .scopes and .code of a unit, read once. */
int dw_walk_unit(struct dwarf *d, struct dw_unit *unit, struct ubp_err *err);

/* The function whose DIE is at @addr, or NULL. */
const struct dw_function *dw_function_of(struct dwarf *d, const void *addr,
					 struct dw_unit **ret_unit);
/* "ns::Class::f" of the DIE of a function, inlined or not; "?" where it has no name. Kept. */
const char *dw_full_name(struct dwarf *d, Dwarf_Die *die);

#endif
