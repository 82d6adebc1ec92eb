/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sections of ELF files, and strings in them. */

#ifndef UBP_ELF_SECTIONS_H
#define UBP_ELF_SECTIONS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct ubp_err;

/* Strings of a section, NUL-ended as a whole. */
struct string_table {
	const char *bytes;
	size_t len;
};

/* The first section of @type, or NULL. *ret_header is filled. */
Elf_Scn *object_section_of_type(const struct object *object, uint32_t type,
				GElf_Shdr *ret_header);

/* The section named @name behind @behind (NULL: the first), or NULL. *ret_header is filled. */
Elf_Scn *section_named(Elf *elf, Elf_Scn *behind, const char *name, GElf_Shdr *ret_header);
/* The first one that has bytes in the file. */
Elf_Scn *section_with_bytes(Elf *elf, const char *name, GElf_Shdr *ret_header);

/*
 * The contents of @section, @raw: in the file's byte order. Owned by the Elf. NULL:
 * none, it can't be read, or it is longer than SECTION_LEN_MAX.
 */
Elf_Data *object_section_data(Elf_Scn *section, bool raw);

/* The strings of section @index. Returns 0, or -ENOEXEC with a text. */
int object_string_table(const struct object *object, size_t index,
			struct string_table *ret_table, struct ubp_err *err);

/* The first and the last of these of any ELF file; @path is for messages. */
Elf_Scn *section_of_type(Elf *elf, uint32_t type, GElf_Shdr *ret_header);
int section_strings(Elf *elf, const char *path, size_t index, struct string_table *ret_table,
		    struct ubp_err *err);

/* The rest of @table at @at, or NULL when outside. */
static inline const char *string_at(const struct string_table *table, uint64_t at)
{
	return at < table->len ? table->bytes + at : NULL;
}

#endif
