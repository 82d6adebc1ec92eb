/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/scopes.h"

#include "engine/base/search.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/dwarf_priv.h"
#include "engine/dwarf/functions.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/units.h"

bool dw_function_at(struct dwarf *d, struct dw_unit *unit, Dwarf_Addr addr, Dwarf_Die *ret_die)
{
	struct ubp_err ignored;
	size_t n;

	ubp_err_reset(&ignored);
	if (dw_walk_unit(d, unit, &ignored) < 0)
		return false;
	n = search_above(unit->code, unit->n_code, start, addr);
	for (size_t i = n; i > 0 && n - i < 16; i--) {
		const struct dw_code *code = &unit->code[i - 1];

		if (addr < code->end)
			return dwarf_die_addr_die(
				d->dw, (void *)unit->functions[code->function].addr, ret_die);
	}
	return false;
}

/* Is it an inlined copy that begins at @addr, though nothing of it stands there any more? */
static bool begins_at(Dwarf_Die *die, Dwarf_Addr addr)
{
	Dwarf_Addr entry;
	Dwarf_Attribute a;

	return dwarf_tag(die) == DW_TAG_inlined_subroutine &&
	       dwarf_attr(die, DW_AT_entry_pc, &a) && dwarf_formaddr(&a, &entry) == 0 &&
	       entry == addr;
}

/* The scope in @parent that @addr is in. @blocks: in no other function. */
static bool descend(Dwarf_Die *parent, Dwarf_Addr addr, bool blocks, Dwarf_Die *ret_die)
{
	bool has_begun = false;
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		if (!dw_is_scope(&die) || (blocks && dw_is_function(&die)))
			continue;
		if (dw_covers(&die, addr)) {
			*ret_die = die;
			return true;
		}
		if (!has_begun && begins_at(&die, addr)) {
			*ret_die = die;
			has_begun = true;
		}
	} while (!dw_is_late() && dwarf_siblingof(&die, &die) == 0);
	return has_begun;
}

/* The scope in @parent that is @scope, or that it is in: DIEs stand behind their parents. */
static bool approach(Dwarf_Die *parent, const void *scope, Dwarf_Die *ret_die)
{
	bool has_any = false;
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		if (die.addr > scope)
			break;
		has_any = dw_is_scope(&die);
		*ret_die = die;
	} while (!dw_is_late() && dwarf_siblingof(&die, &die) == 0);
	return has_any;
}

/*
 * Innermost last, from @scopes[0] on. Returns how many. @scope NULL: wherever the address
 * is.
 */
static size_t go_down(Dwarf_Addr addr, const void *scope, Dwarf_Die *scopes, size_t max)
{
	size_t n = 1;

	while (scope && scopes[n - 1].addr != scope) {
		if (n == max || !approach(&scopes[n - 1], scope, &scopes[n]))
			return 0;
		n++;
	}
	while (n < max && descend(&scopes[n - 1], addr, scope != NULL, &scopes[n]))
		n++;
	return n;
}

size_t dw_scopes_at(struct dwarf *d, const struct dwarf_place *place, Dwarf_Die *scopes,
		    size_t max)
{
	Dwarf_Addr addr = dw_addr(d, place->elf_vaddr);
	struct dw_unit *unit = dw_unit_at(d, place->elf_vaddr);
	Dwarf_Die found[DW_DEPTH_MAX];
	size_t n = 0;

	if (!unit || max == 0)
		return 0;
	if (dw_function_at(d, unit, addr, &found[0])) {
		if (place->scope)
			n = go_down(addr, place->scope, found, DW_DEPTH_MAX);
		if (n == 0)
			n = go_down(addr, NULL, found, DW_DEPTH_MAX);
	}
	/* If there are too many, what is outside is left out. */
	for (size_t i = 0; i < n && i < max; i++)
		scopes[i] = found[n - 1 - i];
	if (n >= max)
		return max;
	scopes[n] = unit->die;
	return n + 1;
}

/* --- is it optimised? -------------------------------------------------------- */

enum place_kind { PLACE_NONE, PLACE_FRAME, PLACE_OTHER };

static enum place_kind kind_of(Dwarf_Die *variable)
{
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	if (!dw_attr(variable, DW_AT_location, &a))
		return PLACE_NONE;
	if (dwarf_getlocation(&a, &ops, &n) != 0 || n == 0)
		return PLACE_OTHER;
	return ops[0].atom == DW_OP_fbreg ? PLACE_FRAME : PLACE_OTHER;
}

bool dw_is_optimised(Dwarf_Die *function)
{
	Dwarf_Die die;
	bool is_on_frame = false;

	if (dwarf_child(function, &die) != 0)
		return true;
	do {
		int tag = dwarf_tag(&die);

		if (tag != DW_TAG_formal_parameter && tag != DW_TAG_variable)
			continue;
		switch (kind_of(&die)) {
		case PLACE_FRAME:
			is_on_frame = true;
			break;
		case PLACE_OTHER:
			if (tag == DW_TAG_formal_parameter)
				return true;
			break;
		case PLACE_NONE:
			break;
		}
	} while (!dw_is_late() && dwarf_siblingof(&die, &die) == 0);
	return !is_on_frame;
}
