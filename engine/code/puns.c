/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/puns.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/code/boundary.h"
#include "engine/elf/object.h"
#include "engine/elf/object_priv.h"

#define USER_MIN 0x10000ULL  /* the usual vm.mmap_min_addr */
#define ROOM     0x100000ULL /* around the object, which nothing of ours is mapped in */

/* All that is mapped of the object. */
static void find_extent(const struct object *object, uint64_t *ret_lo, uint64_t *ret_hi)
{
	*ret_lo = UINT64_MAX;
	*ret_hi = 0;
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (s->elf_vaddr < *ret_lo)
			*ret_lo = s->elf_vaddr;
		if (s->elf_vaddr + s->mem_len > *ret_hi)
			*ret_hi = s->elf_vaddr + s->mem_len;
	}
}

static bool may_be_free(const struct object *object, uint64_t elf_vaddr, const struct pun *pun)
{
	int64_t low = (int64_t)elf_vaddr + pun->low, high = low + pun->n - 1;
	uint64_t start, end;

	find_extent(object, &start, &end);
	if (high > (int64_t)(end + ROOM))
		return true;
	/* Where it is linked to is where it is loaded. */
	if (!object_is_pie(object))
		return start > ROOM && low < (int64_t)(start - ROOM) &&
		       high > (int64_t)USER_MIN;
	return low < (int64_t)start - (int64_t)ROOM;
}

/* Of the bytes at @foffset, those at which an instruction begins, or may begin. */
static uint8_t find_starts(struct object *object, uint64_t foffset)
{
	uint8_t starts = 0;

	for (unsigned i = 0; i < UBP_PUN_FIXED; i++) {
		uint64_t ignored;

		if (object_check_boundary(object, foffset + i, &ignored) != BOUNDARY_INSIDE)
			starts |= (uint8_t)(1u << i);
	}
	return starts;
}

bool puns_choose(struct object *object, uint64_t elf_vaddr, uint64_t foffset,
		 const uint8_t *code, size_t len, struct window *window)
{
	if (len < (size_t)window->jump_len + UBP_PUN_FIXED)
		return false;
	window->pun.starts = find_starts(object, foffset + window->jump_len);
	for (uint8_t n_prefix = 0; n_prefix < window->jump_len; n_prefix++)
		if (object->arch->jump.take_pun(window, n_prefix, code + window->jump_len) &&
		    may_be_free(object, elf_vaddr, &window->pun))
			return true;
	window->pun = (struct pun){ 0 };
	return false;
}
