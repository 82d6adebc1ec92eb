/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/boundary.h"

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/cancel.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/gopclntab.h"
#include "engine/symbols/symtab.h"

/* Bytes read at a time. */
#define WINDOW 4096

/* No function is that long; and a second or two is long enough to wait. */
#define WALK_MAX (16u << 20)

/* Is it called there, or entered, as the file itself says? No function need be known there. */
static bool is_called_at(const struct object *object, uint64_t elf_vaddr)
{
	return elf_vaddr && (elf_vaddr == object->init || elf_vaddr == object->fini ||
			     elf_vaddr == object_entry(object));
}

/*
 * The nearest place at or below @elf_vaddr where an instruction starts for sure.
 * The nearer the better: data between functions can't lead us astray.
 */
static bool find_anchor(struct object *object, uint64_t elf_vaddr, uint64_t *ret_start)
{
	const struct extent *extent = symtab_extent_at(object, elf_vaddr);
	uint64_t start, end;
	bool found = extent != NULL;
	struct go_function function;

	if (extent)
		*ret_start = extent->start;
	if (found && *ret_start == elf_vaddr)
		return true;
	if (!found && gopclntab_at(object, elf_vaddr, &function) == 0) {
		*ret_start = function.start;
		found = true;
	}
	if (fde_at(object, elf_vaddr, &start, &end) == 0 && (!found || start > *ret_start)) {
		*ret_start = start;
		found = true;
	}
	return found;
}

/* Decode from @from up to @to. Returns an enum object_boundary or -errno. */
static int walk(const struct object *object, uint64_t from, uint64_t to, uint64_t *ret_start)
{
	uint8_t code[WINDOW + UBP_INSN_MAX];
	uint64_t foffset, window = 0;
	size_t len = 0;
	int n;

	for (uint64_t at = from; at < to; at += (uint64_t)n) {
		/* The window always holds a whole instruction, if the file has it. */
		if (len == 0 || at - window >= WINDOW) {
			ssize_t got;

			if (cancel_is_asked())
				return -EINTR;
			if (object_vaddr_to_foffset(object, at, &foffset) < 0)
				return BOUNDARY_UNKNOWN;
			got = object_read(object, foffset, code, sizeof(code));
			if (got <= 0)
				return got < 0 ? (int)got : BOUNDARY_UNKNOWN;
			len = (size_t)got;
			window = at;
		}
		if (at - window >= len)
			return BOUNDARY_UNKNOWN;
		n = object->arch->insn.len(code + (at - window), len - (at - window), at);
		if (n <= 0)
			return -EILSEQ;
		if ((uint64_t)n > to - at)
			return object_vaddr_to_foffset(object, at, ret_start) < 0
				       ? BOUNDARY_UNKNOWN
				       : BOUNDARY_INSIDE;
	}
	return BOUNDARY_OK;
}

int object_check_boundary(struct object *object, uint64_t foffset, uint64_t *ret_start)
{
	uint64_t elf_vaddr, from;

	if (!object_is_executable(object, foffset) ||
	    object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0)
		return BOUNDARY_UNKNOWN;
	if (is_called_at(object, elf_vaddr))
		return BOUNDARY_OK;
	if (!find_anchor(object, elf_vaddr, &from))
		return BOUNDARY_UNKNOWN;
	if (from == elf_vaddr)
		return BOUNDARY_OK;
	if (!object->arch || elf_vaddr - from > WALK_MAX)
		return BOUNDARY_UNKNOWN;
	return walk(object, from, elf_vaddr, ret_start);
}
