/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"

#define IMAGE_MAX    (UINT64_C(1) << 30)
#define SEGMENTS_MAX 256

int image_read(const struct object *object, struct image *ret_image, struct ubp_err *err)
{
	uint64_t total = 0;

	if (object->n_segments > SEGMENTS_MAX)
		return ubp_fail(err, EFBIG, "%s has too many segments", object->path);
	*ret_image = (struct image){ .parts = calloc(object->n_segments + 1,
						     sizeof(struct image_part)) };
	if (!ret_image->parts)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];
		struct image_part *part = &ret_image->parts[ret_image->n++];

		/* Segments may share bytes of the file, any number of times. */
		if (s->file_len > IMAGE_MAX || (total += s->file_len) > IMAGE_MAX)
			return ubp_fail(err, EFBIG, "%s is too large to be looked through",
					object->path);
		part->elf_vaddr = s->elf_vaddr;
		part->len = s->file_len;
		part->is_exec = s->is_exec;
		part->bytes = malloc(s->file_len ? s->file_len : 1);
		if (!part->bytes)
			return ubp_fail(err, ENOMEM, "out of memory");
		if (object_read(object, s->foffset, part->bytes, part->len) !=
		    (ssize_t)part->len)
			return ubp_fail(err, EIO, "cannot read %s", object->path);
	}
	return 0;
}

void image_free(struct image *image)
{
	for (size_t i = 0; i < image->n; i++)
		free(image->parts[i].bytes);
	free(image->parts);
	*image = (struct image){ 0 };
}

const uint8_t *image_at(const struct image *image, uint64_t elf_vaddr, size_t *ret_len)
{
	for (size_t i = 0; i < image->n; i++) {
		const struct image_part *part = &image->parts[i];

		if (elf_vaddr >= part->elf_vaddr && elf_vaddr - part->elf_vaddr < part->len) {
			*ret_len = part->len - (elf_vaddr - part->elf_vaddr);
			return part->bytes + (elf_vaddr - part->elf_vaddr);
		}
	}
	*ret_len = 0;
	return NULL;
}

/* Of a table that is not in one segment all stays. */
static void blank_table(struct image *image, uint64_t elf_vaddr, uint64_t len, size_t size,
			size_t word)
{
	for (size_t i = 0; i < image->n; i++) {
		const struct image_part *part = &image->parts[i];
		uint64_t start = elf_vaddr - part->elf_vaddr;

		if (elf_vaddr < part->elf_vaddr || start > part->len || len > part->len - start)
			continue;
		for (uint64_t at = 0; at < len; at += size)
			memset(part->bytes + start + at + word, 0, word);
	}
}

void image_blank_relocs(const struct object *object, struct image *image)
{
	size_t word = object_is_64bit(object) ? 8 : 4;
	uint64_t left = IMAGE_MAX; /* sections, too, may share bytes */
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(object->elf, section))) {
		size_t size; /* of an entry: r_offset, r_info, and maybe r_addend */

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_type != SHT_REL && header.sh_type != SHT_RELA))
			continue;
		size = (header.sh_type == SHT_REL ? 2 : 3) * word;
		if (header.sh_entsize != size || header.sh_size % size || header.sh_size > left)
			continue;
		left -= header.sh_size;
		blank_table(image, header.sh_addr, header.sh_size, size, word);
	}
}
