/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Places that can't be probed for what stands around them. */

#include "arch/arch.h"
#include "engine/object/object_priv.h"

/* Bytes looked at, either way. */
#define AROUND 2048

const char *object_refuse_at(struct object *object, uint64_t foffset)
{
	const struct segment *segment;
	uint8_t code[2 * AROUND];
	uint64_t elf_vaddr, from, end, start, its_end;
	ssize_t len;

	if (!object->arch || !object->arch->refuse_at ||
	    object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0)
		return NULL;
	segment = object_segment_of(object, elf_vaddr);
	if (!segment || !segment->is_exec)
		return NULL;
	from = segment->elf_vaddr;
	end = segment->elf_vaddr + segment->file_len;
	/* Other functions have nothing to say, if it is known where they are. */
	if (object_extent(object, foffset, &start, &its_end) == 0) {
		from = start > from ? start : from;
		end = its_end < end ? its_end : end;
	}
	if (elf_vaddr - from > AROUND)
		from += (elf_vaddr - from - AROUND) & ~UINT64_C(15);
	if (end - from > sizeof(code))
		end = from + sizeof(code);
	if (elf_vaddr < from || elf_vaddr >= end)
		return NULL;
	len = object_read(object, foffset - (elf_vaddr - from), code, end - from);
	return len > 0 ? object->arch->refuse_at(code, (size_t)len, elf_vaddr - from) : NULL;
}
