/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Types that are only declared in the unit that uses them. */

#include <string.h>

#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/type.h"
#include "engine/dwarf/units.h"

#define NAMESPACES_MAX 8

static bool is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_class_type;
}

static bool find(Dwarf_Die *scope, const char *name, unsigned depth, Dwarf_Die *ret_die)
{
	for (struct children c = children_of(scope); c.has_one; children_next(&c)) {
		int tag = dwarf_tag(&c.die);
		const char *its;

		if (tag == DW_TAG_namespace && depth < NAMESPACES_MAX &&
		    find(&c.die, name, depth + 1, ret_die))
			return true;
		if (!is_record(tag) || dw_flag(&c.die, DW_AT_declaration))
			continue;
		its = dw_name(&c.die);
		if (its && strcmp(its, name) == 0) {
			*ret_die = c.die;
			return true;
		}
	}
	return false;
}

void type_complete(struct dwarf *d, struct type *type)
{
	struct ubp_err err = { 0 };
	Dwarf_Die die;
	const char *name;

	if (!is_record(type->tag) || !dw_flag(&type->die, DW_AT_declaration))
		return;
	name = dw_name(&type->die);
	if (!name || dw_read_units(d, &err) < 0)
		return;
	for (size_t i = 0; i < d->n_units; i++)
		if (find(&d->units[i].die, name, 0, &die)) {
			type->die = die;
			type->tag = dwarf_tag(&die);
			return;
		}
}
