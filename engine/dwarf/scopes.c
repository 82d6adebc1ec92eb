/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From an address to the DIEs that it is in. */

#include <string.h>

#include "engine/dwarf/priv.h"

/* The function out of line that @addr is in. */
static bool function_at(struct dwarf *d, struct dw_unit *unit, Dwarf_Addr addr,
			Dwarf_Die *ret_die)
{
	struct ubp_err ignored;
	size_t low = 0, high;

	ubp_err_reset(&ignored);
	if (dw_walk_unit(d, unit, &ignored) < 0)
		return false;
	high = unit->n_code;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (unit->code[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low; i > 0 && low - i < 16; i--) {
		const struct dw_code *code = &unit->code[i - 1];

		if (addr < code->end)
			return dwarf_die_addr_die(
				d->dw, (void *)unit->functions[code->function].addr, ret_die);
	}
	return false;
}

/* The child of @die that @addr is in. */
static bool descend(const Dwarf_Die *parent, Dwarf_Addr addr, Dwarf_Die *ret_die)
{
	Dwarf_Die die = *parent;

	if (dwarf_child(&die, &die) != 0)
		return false;
	do
		if (dw_is_scope(&die) && dw_covers(&die, addr)) {
			*ret_die = die;
			return true;
		}
	while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* What is inside of @scope goes, but blocks that are its own. Returns where to start. */
static size_t cut_inner(Dwarf_Die *scopes, size_t n, const void *scope)
{
	size_t start = 0;

	while (start < n && scopes[start].addr != scope)
		start++;
	if (start == n)
		return 0;
	while (start > 0 && !dw_is_function(&scopes[start - 1]))
		start--;
	return start;
}

size_t dw_scopes_at(struct dwarf *d, const struct dwarf_place *place, Dwarf_Die *scopes,
		    size_t max)
{
	Dwarf_Addr addr = dw_addr(d, place->elf_vaddr);
	struct dw_unit *unit = dw_unit_at(d, place->elf_vaddr);
	Dwarf_Die found[DW_DEPTH_MAX];
	size_t n = DW_DEPTH_MAX, start;

	if (!unit || max == 0)
		return 0;
	found[--n] = unit->die;
	if (function_at(d, unit, addr, &found[n - 1])) {
		n--;
		while (n > 0 && descend(&found[n], addr, &found[n - 1]))
			n--;
	}
	start = place->scope ? n + cut_inner(found + n, DW_DEPTH_MAX - n, place->scope) : n;
	if (max > DW_DEPTH_MAX - start)
		max = DW_DEPTH_MAX - start;
	memcpy(scopes, found + start, max * sizeof(*scopes));
	return max;
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

		if (tag == DW_TAG_inlined_subroutine)
			return true;
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
	} while (dwarf_siblingof(&die, &die) == 0);
	return !is_on_frame;
}
