/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/places.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/dwarf/functions.h"
#include "engine/elf/segments.h"

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
