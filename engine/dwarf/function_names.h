/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by name: all DIEs that are one function, in whichever unit. */

#ifndef UBP_DWARF_FUNCTION_NAMES_H
#define UBP_DWARF_FUNCTION_NAMES_H

#include "engine/dwarf/dwarf_priv.h"

/* A DIE of a function that was sought: its code, an inlined copy, a declaration. */
struct dw_instance {
	Dwarf_Die die;
	bool is_inlined, has_code;
};

struct dw_instances {
	struct dw_instance *v;
	size_t n, cap;
};
/* All DIEs of all functions of that name, or of what a symbol says to have it. -ENOENT: there is none, with near names. */
int dw_find(struct dwarf *d, const char *name, struct dw_instances *ret_found,
	    struct ubp_err *err);
void dw_instances_free(struct dw_instances *found);

#endif
