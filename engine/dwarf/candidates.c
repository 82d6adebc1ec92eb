/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/candidates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/dwarf/entry.h"
#include "engine/dwarf/places.h"
#include "engine/dwarf/scopes.h"

struct candidate {
	Dwarf_Die scope;
	Dwarf_Addr addr;
	const char *file;
	unsigned line;
};

bool dw_is_candidate(const struct dw_candidates *candidates, const Dwarf_Die *scope)
{
	return map_get(&candidates->scopes, (uintptr_t)scope->addr) != NULL;
}

/* The innermost block of @scope, but not of what is inlined into it, that @addr is in. */
static const void *block_at(struct dwarf *d, const Dwarf_Die *scope, Dwarf_Addr addr)
{
	struct dwarf_place place = { .elf_vaddr = dw_elf_vaddr(d, addr), .scope = scope->addr };
	Dwarf_Die block;

	return dw_scopes_at(d, &place, &block, 1) == 1 ? block.addr : scope->addr;
}

int dw_add_candidate(struct dwarf *d, struct dw_candidates *candidates, const Dwarf_Die *scope,
		     Dwarf_Addr addr, const char *file, unsigned line, struct ubp_err *err)
{
	uintptr_t block = (uintptr_t)block_at(d, scope, addr);
	struct candidate *c = map_get(&candidates->by_block, block);

	if (c) {
		if (addr < c->addr)
			c->addr = addr;
		return 0;
	}
	c = malloc(sizeof(*c));
	if (!c || map_put(&candidates->by_block, block, c) < 0) {
		free(c);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	*c = (struct candidate){ *scope, addr, file, line };
	if (map_put(&candidates->scopes, (uintptr_t)scope->addr, c) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	return 0;
}

int dw_take_candidates(struct dwarf *d, struct dw_candidates *candidates,
		       struct dwarf_places *places, struct ubp_err *err)
{
	size_t at = 0;
	void *value;
	int rc = 0;

	while (rc == 0 && map_next(&candidates->by_block, &at, NULL, &value)) {
		struct candidate *c = value;
		struct dwarf_place place;
		Dwarf_Addr entry;

		dw_fill_place(d, &c->scope, c->addr, c->file, c->line, &place);
		place.is_entry =
			!place.is_inlined && dw_entry(d, &c->scope, &entry) && entry == c->addr;
		rc = dw_add_place(d, places, &place, err);
	}
	dw_sort_places(places);
	return rc;
}

void dw_free_candidates(struct dw_candidates *candidates)
{
	size_t at = 0;
	void *value;

	while (map_next(&candidates->by_block, &at, NULL, &value))
		free(value);
	map_free(&candidates->by_block);
	map_free(&candidates->scopes);
}

void dw_near_line(struct dw_near_lines *near, unsigned wanted, unsigned line)
{
	if (line < wanted && (!near->has_below || line > near->below)) {
		near->below = line;
		near->has_below = true;
	}
	if (line > wanted && (!near->has_above || line < near->above)) {
		near->above = line;
		near->has_above = true;
	}
}

void dw_near_text(const struct dw_near_lines *near, char *text, size_t size)
{
	text[0] = '\0';
	if (near->has_below && near->has_above)
		snprintf(text, size, "; %u and %u have", near->below, near->above);
	else if (near->has_below || near->has_above)
		snprintf(text, size, "; %u has", near->has_below ? near->below : near->above);
}
