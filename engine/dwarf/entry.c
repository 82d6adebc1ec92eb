/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/entry.h"

#include <dwarf.h>
#include <string.h>

#include "engine/dwarf/units.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

static const char *symbol_at(struct dwarf *d, Dwarf_Addr addr)
{
	struct object_symbol symbol;
	uint64_t foffset;

	if (object_vaddr_to_foffset(d->object, dw_elf_vaddr(d, addr), &foffset) < 0 ||
	    object_function_at(d->object, foffset, &symbol) < 0)
		return NULL;
	return symbol.name;
}

struct pieces {
	struct dwarf *d;
	Dwarf_Addr first, lowest, hot;
};

static int look_at_piece(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct pieces *p = ctx;
	const char *symbol;

	(void)end;
	if (!p->first)
		p->first = start;
	if (!p->lowest || start < p->lowest)
		p->lowest = start;
	if (p->hot || p->first == 0)
		return 0;
	symbol = symbol_at(p->d, start);
	if (symbol && !strstr(symbol, ".cold"))
		p->hot = start;
	return 0;
}

/* DW_AT_entry_pc: an address, or how far it is behind the first. */
static bool told_entry(Dwarf_Die *die, Dwarf_Addr first, Dwarf_Addr *ret_addr)
{
	Dwarf_Attribute a;
	Dwarf_Word offset;

	if (!dwarf_attr(die, DW_AT_entry_pc, &a))
		return false;
	if (dwarf_formaddr(&a, ret_addr) == 0)
		return true;
	if (!first || dwarf_formudata(&a, &offset) != 0)
		return false;
	*ret_addr = first + offset;
	return true;
}

bool dw_entry(struct dwarf *d, Dwarf_Die *die, Dwarf_Addr *ret_addr)
{
	bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	struct pieces pieces = { .d = d };

	if (is_inlined || dwarf_hasattr(die, DW_AT_ranges))
		(void)dw_each_range(die, look_at_piece, &pieces);
	if (told_entry(die, pieces.first, ret_addr) &&
	    dw_unit_at(d, dw_elf_vaddr(d, *ret_addr)))
		return true;
	if (is_inlined)
		*ret_addr = pieces.lowest;
	else if (pieces.hot || pieces.first)
		*ret_addr = pieces.hot ? pieces.hot : pieces.first;
	else if (dwarf_lowpc(die, ret_addr) != 0)
		*ret_addr = 0;
	return *ret_addr != 0;
}

bool dw_is_rest(struct dwarf *d, Dwarf_Addr addr)
{
	const char *symbol = symbol_at(d, addr);

	return symbol && strstr(symbol, ".part.");
}
