/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* All that a file's segments load, in memory: for looking through the whole of it. */

#ifndef UBP_ELF_IMAGE_H
#define UBP_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct ubp_err;

struct image {
	struct image_part {
		uint64_t elf_vaddr;
		size_t len;
		bool is_exec;
		uint8_t *bytes;
	} * parts; /* as the segments */
	size_t n;
};

/* Returns 0, -ENOMEM, -EIO or -EFBIG (more than a gigabyte). */
int image_read(const struct object *object, struct image *ret_image, struct ubp_err *err);
void image_free(struct image *image);

/*
 * Zero what each relocation has for its kind and symbol: numbers that look like addresses in
 * small 32-bit files. Where it is (code, maybe, which is then not what the file has) and what
 * it adds stay.
 */
void image_blank_relocs(const struct object *object, struct image *image);

/* The bytes from @elf_vaddr to the end of its segment's; NULL: none. */
const uint8_t *image_at(const struct image *image, uint64_t elf_vaddr, size_t *ret_len);

#endif
