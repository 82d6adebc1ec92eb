/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Going over what is in a DIE. A corrupt file may lead back: there is an end to it. */

#ifndef UBP_DWARF_CHILDREN_H
#define UBP_DWARF_CHILDREN_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "engine/dwarf/limits.h"

#define CHILDREN_MAX (1u << 20)

struct children {
	Dwarf_Die die;
	unsigned n;
	bool has_one;
};

static inline struct children children_of(Dwarf_Die *parent)
{
	struct children c = { .n = 0 };

	c.has_one = dwarf_child(parent, &c.die) == 0;
	return c;
}

static inline void children_next(struct children *c)
{
	c->has_one = ++c->n < CHILDREN_MAX && !dw_is_late() &&
		     dwarf_siblingof(&c->die, &c->die) == 0;
}

#endif
