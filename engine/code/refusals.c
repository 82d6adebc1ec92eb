/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/refusals.h"

#include "arch/arch.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

/* Bytes looked at, either way. */
#define AROUND 2048

struct around {
	uint8_t code[2 * AROUND];
	size_t len;
	size_t at;    /* the place's, in code[] */
	size_t start; /* its function's, or 0: further in front */
};

/* The code around @foffset; @before bytes of what is in front of its function, too. */
static bool read_around(struct object *object, uint64_t foffset, uint64_t before,
			struct around *a)
{
	const struct segment *segment;
	uint64_t elf_vaddr, from, end, start, its_end;
	ssize_t len;

	if (object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0)
		return false;
	segment = object_segment_of(object, elf_vaddr);
	if (!segment || !segment->is_exec)
		return false;
	from = segment->elf_vaddr;
	end = segment->elf_vaddr + segment->file_len;
	start = elf_vaddr;
	/* Other functions have nothing to say, if it is known where they are. */
	if (object_extent(object, foffset, &start, &its_end) == 0) {
		from = start > from + before ? start - before : from;
		end = its_end < end ? its_end : end;
	}
	if (elf_vaddr - from > AROUND)
		from += (elf_vaddr - from - AROUND) & ~UINT64_C(15);
	if (end - from > sizeof(a->code))
		end = from + sizeof(a->code);
	if (elf_vaddr < from || elf_vaddr >= end)
		return false;
	len = object_read(object, foffset - (elf_vaddr - from), a->code, end - from);
	a->len = len > 0 ? (size_t)len : 0;
	a->at = elf_vaddr - from;
	a->start = start > from ? start - from : 0;
	return a->at < a->len;
}

const char *object_refuse_at(struct object *object, uint64_t foffset)
{
	struct around a;

	if (!object->arch || !object->arch->insn.refuse_at ||
	    !read_around(object, foffset, 0, &a))
		return NULL;
	return object->arch->insn.refuse_at(a.code, a.len, a.at);
}

const char *object_refuse_return_at(struct object *object, uint64_t foffset)
{
	struct around a;

	if (!object->arch || !object->arch->insn.refuse_return_at ||
	    !read_around(object, foffset, object->arch->insn.align, &a))
		return NULL;
	return object->arch->insn.refuse_return_at(a.code, a.len, a.start, a.at);
}
