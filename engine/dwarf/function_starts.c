/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Places of functions: where they begin, behind their prologues, and what an address is in. */

#include <errno.h>

#include "engine/dwarf/die.h"
#include "engine/dwarf/entry.h"
#include "engine/dwarf/function_names.h"
#include "engine/dwarf/places.h"
#include "engine/dwarf/rows.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/unlimited.h"
#include "engine/elf/object.h"

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
	    (!instance->is_inlined && dw_is_rest(d, addr)))
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
