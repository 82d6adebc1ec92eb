/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of places; where functions and their inlined copies begin. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/lines.h"

void dwarf_places_free(struct dwarf_places *places)
{
	free(places->v);
	*places = (struct dwarf_places){ 0 };
}

static bool is_code(const struct dwarf *d, Dwarf_Addr addr)
{
	uint64_t foffset;

	return object_vaddr_to_foffset(d->object, dw_elf_vaddr(d, addr), &foffset) == 0 &&
	       object_is_executable(d->object, foffset);
}

int dw_add_place(struct dwarf *d, struct dwarf_places *places, const struct dwarf_place *place,
		 struct ubp_err *err)
{
	if (!is_code(d, dw_addr(d, place->elf_vaddr)))
		return 0;
	if (VEC_DOUBLE(places->v, places->n) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	places->v[places->n++] = *place;
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct dwarf_place *x = a, *y = b;

	if (x->elf_vaddr != y->elf_vaddr)
		return x->elf_vaddr < y->elf_vaddr ? -1 : 1;
	/* What is called first: it has the better variables. */
	return x->is_inlined - y->is_inlined;
}

void dw_sort_places(struct dwarf_places *places)
{
	size_t n = 0;

	if (!places->n)
		return;
	qsort(places->v, places->n, sizeof(*places->v), compare_places);
	for (size_t i = 0; i < places->n; i++)
		if (n == 0 || places->v[n - 1].elf_vaddr != places->v[i].elf_vaddr)
			places->v[n++] = places->v[i];
	places->n = n;
}

void dw_fill_place(struct dwarf *d, Dwarf_Die *scope, Dwarf_Addr addr, const char *file,
		   unsigned line, struct dwarf_place *ret_place)
{
	*ret_place = (struct dwarf_place){
		.elf_vaddr = dw_elf_vaddr(d, addr),
		.function = dw_full_name(d, scope),
		.file = dw_path(d, scope, file),
		.line = line,
		.is_inlined = dwarf_tag(scope) == DW_TAG_inlined_subroutine,
		.scope = scope->addr,
	};
}

/* --- where a function begins ---------------------------------------------------- */

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

/* "f.part.0": what is left of f where its beginning was inlined. Nobody calls it as f. */
static bool is_part(struct dwarf *d, Dwarf_Addr addr)
{
	const char *symbol = symbol_at(d, addr);

	return symbol && strstr(symbol, ".part.");
}

bool dw_skip_prologue(struct dwarf *d, struct dwarf_place *place)
{
	Dwarf_Addr addr;
	Dwarf_Die die;

	if (!place->is_entry || !place->scope ||
	    !dwarf_die_addr_die(d->dw, (void *)place->scope, &die) || dw_is_optimised(&die) ||
	    !dw_behind_prologue(d, &die, dw_addr(d, place->elf_vaddr), &addr))
		return false;
	place->elf_vaddr = dw_elf_vaddr(d, addr);
	place->is_entry = false;
	return true;
}

bool dw_place_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_place *ret_place)
{
	const struct dwarf_place at = { .elf_vaddr = elf_vaddr };
	Dwarf_Die scopes[DW_DEPTH_MAX];
	size_t n = dw_scopes_at(d, &at, scopes, DW_DEPTH_MAX);
	Dwarf_Addr entry;

	for (size_t i = 0; i < n; i++) {
		if (!dw_is_function(&scopes[i]) ||
		    dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			continue;
		dw_fill_place(d, &scopes[i], dw_addr(d, elf_vaddr), dw_decl_file(&scopes[i]),
			      dw_decl_line(&scopes[i]), ret_place);
		ret_place->is_entry =
			dw_entry(d, &scopes[i], &entry) && dw_elf_vaddr(d, entry) == elf_vaddr;
		return true;
	}
	return false;
}

static int add_entry(struct dwarf *d, struct dw_instance *instance, bool after_prologue,
		     struct dwarf_places *places, struct ubp_err *err)
{
	struct dwarf_place place;
	Dwarf_Addr addr;

	if (!instance->has_code || !dw_entry(d, &instance->die, &addr) ||
	    (!instance->is_inlined && is_part(d, addr)))
		return 0;
	dw_fill_place(d, &instance->die, addr, dw_decl_file(&instance->die),
		      dw_decl_line(&instance->die), &place);
	place.is_entry = !instance->is_inlined;
	if (after_prologue)
		(void)dw_skip_prologue(d, &place);
	return dw_add_place(d, places, &place, err);
}

int dw_function_places(struct dwarf *d, const char *name, bool after_prologue,
		       struct dwarf_places *ret_places, struct ubp_err *err)
{
	struct dw_instances found;
	int rc = dw_find(d, name, &found, err);

	*ret_places = (struct dwarf_places){ 0 };
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < found.n && rc == 0; i++)
		rc = add_entry(d, &found.v[i], after_prologue, ret_places, err);
	dw_instances_free(&found);
	dw_sort_places(ret_places);
	if (rc == 0 && ret_places->n == 0)
		rc = ubp_fail(err, ENOENT,
			      "function '%s' has no code in %s: it is only declared, "
			      "or all its uses were optimised away",
			      name, object_path(d->object));
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}
