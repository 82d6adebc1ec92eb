/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/location.h"
#include "engine/dwarf/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/entry.h"
#include "engine/dwarf/operations.h"
#include "engine/dwarf/rows.h"
#include "engine/dwarf/scopes.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"

static bool is_code(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_subprogram;
}

/* Variables on the frame are not stored yet there. */
static bool is_prologue(struct dwarf *d, Dwarf_Die *function, Dwarf_Addr addr)
{
	Dwarf_Addr entry, body;

	return !dw_is_optimised(function) && dw_entry(d, function, &entry) && addr >= entry &&
	       dw_behind_prologue(d, function, entry, &body) && addr < body;
}

int location_at_init(struct location_at *at, struct dwarf *d, uint64_t elf_vaddr,
		     Dwarf_Die *scopes, size_t n_scopes, struct ubp_err *err)
{
	const struct ubp_arch *arch = object_arch(d->object);

	*at = (struct location_at){ .d = d, .elf_vaddr = elf_vaddr };
	at->addr = dw_addr(d, elf_vaddr);
	if (!arch)
		return ubp_fail(err, ENOTSUP, "%s: %s programs cannot be traced",
				object_path(d->object), object_machine_name(d->object));
	at->e_machine = arch->e_machine;
	at->addr_size = object_is_64bit(d->object) ? 8 : 4;
	if (object_vaddr_to_foffset(d->object, elf_vaddr, &at->foffset) < 0)
		return ubp_fail(err, ENOENT, "0x%" PRIx64 " is not in the file", elf_vaddr);
	for (size_t i = 0; i < n_scopes && !at->has_function; i++) {
		if (!is_code(&scopes[i]))
			continue;
		at->has_function = true;
		at->function = scopes[i];
		at->function_name = dw_name(&scopes[i]);
	}
	at->is_prologue = at->has_function && is_prologue(d, &at->function, at->addr);
	return 0;
}

/* "; it has a value at f+0x10 to f+0x20", of the range that is nearest. */
static void where_else(const struct location_at *at, Dwarf_Attribute *attr, char *text,
		       size_t size)
{
	Dwarf_Addr base = 0, start, end, best_start = 0, best_end = 0, low = 0;
	uint64_t best = UINT64_MAX;
	ptrdiff_t offset = 0;
	Dwarf_Op *ops;
	size_t n_ops;

	for (unsigned i = 0; i < 4096 && !dw_is_late(); i++) {
		uint64_t distance;

		offset = dwarf_getlocations(attr, offset, &base, &start, &end, &ops, &n_ops);
		if (offset <= 0)
			break;
		distance = start > at->addr ? start - at->addr : at->addr - end;
		if (n_ops == 0 || distance >= best)
			continue;
		best = distance;
		best_start = start;
		best_end = end;
	}
	text[0] = '\0';
	if (best == UINT64_MAX || !at->has_function || !at->function_name)
		return;
	if (dwarf_entrypc((Dwarf_Die *)&at->function, &low) != 0 || best_start < low)
		return;
	snprintf(text, size, "; it has a value from %s+0x%" PRIx64 " to +0x%" PRIx64,
		 at->function_name, (uint64_t)(best_start - low), (uint64_t)(best_end - low));
}

static int gone(const struct location_at *at, Dwarf_Attribute *attr, const char *name,
		struct ubp_err *err)
{
	char else_text[200] = "";

	if (attr)
		where_else(at, attr, else_text, sizeof(else_text));
	return ubp_fail(err, ENODATA, "%s is optimised out here%s", name, else_text);
}

static bool is_gone(const struct location *location)
{
	for (size_t i = 0; i < location->n; i++)
		if (location->pieces[i].kind != PIECE_GONE)
			return false;
	return true;
}

/* DW_AT_const_value. */
static int constant(Dwarf_Attribute *attr, const char *name, struct location *ret_location,
		    struct ubp_err *err)
{
	struct piece *piece = &ret_location->pieces[0];
	Dwarf_Sword value;
	Dwarf_Block block;
	const char *string;

	ret_location->n = 1;
	switch (dwarf_whatform(attr)) {
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_data16:
		if (dwarf_formblock(attr, &block) != 0)
			break;
		*piece = (struct piece){ .kind = PIECE_BYTES,
					 .bytes = block.data,
					 .n_bytes = block.length };
		return 0;
	case DW_FORM_string:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		string = dw_string(attr);
		if (!string)
			break;
		*piece = (struct piece){ .kind = PIECE_BYTES,
					 .bytes = (const uint8_t *)string,
					 .n_bytes = strlen(string) + 1 };
		return 0;
	default:
		if (dwarf_formsdata(attr, &value) != 0)
			break;
		*piece = (struct piece){ .kind = PIECE_VALUE, .sum = sum_const(value) };
		return 0;
	}
	return ubp_fail(err, ENOTSUP, "the constant value of %s cannot be read", name);
}

int location_of(const struct location_at *at, Dwarf_Die *variable, const char *name,
		struct location *ret_location, struct ubp_err *err)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;
	Dwarf_Op *ops = NULL;
	size_t n_ops = 0;
	int n;

	*ret_location = (struct location){ 0 };
	if (dw_attr(variable, DW_AT_const_value, &attr))
		return constant(&attr, name, ret_location, err);
	if (!dw_attr(variable, DW_AT_location, &attr))
		return gone(at, NULL, name, err);
	if (dwarf_formblock(&attr, &block) == 0 && block.length == 0)
		return gone(at, NULL, name, err);
	n = dwarf_getlocation_addr(&attr, at->addr, &ops, &n_ops, 1);
	if (n < 0)
		return ubp_fail(err, ENOTSUP, "where %s is cannot be read: %s", name,
				dwarf_errmsg(-1));
	if (n == 0 || n_ops == 0)
		return gone(at, &attr, name, err);
	n = operations_run(at, &attr, ops, n_ops, name, ret_location, err);
	return n == 0 && is_gone(ret_location) ? gone(at, &attr, name, err) : n;
}
