/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the files of this folder share about an open object. */

#ifndef UBP_OBJECT_OBJECT_PRIV_H
#define UBP_OBJECT_OBJECT_PRIV_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/object/object.h"

/* A PT_LOAD segment. */
struct segment {
	uint64_t foffset, file_len; /* bytes in the file */
	uint64_t elf_vaddr, mem_len;
	bool is_exec;
};

struct symtab;
struct fde_table;
struct landings;
struct decoded;
struct object_debug;

struct object {
	char *path;
	int fd;
	Elf *elf;
	uint64_t dev, ino, size;
	GElf_Ehdr ehdr;
	const struct ubp_arch *arch;
	char machine_name[32];
	struct segment *segments;
	size_t n_segments;
	size_t n_sections;
	char *interp;
	const char *soname;  /* in a string table that elf owns */
	const char **needed; /* the same */
	size_t n_needed;
	bool is_go; /* object_is_go(), which is asked for each window */
	/* Read on first use. */
	struct symtab *symtab;
	struct fde_table *fdes;
	struct landings *landings;
	struct decoded *decoded;
	struct object_debug *debug; /* debug.c */
};

/* Strings of a section, NUL-ended as a whole. */
struct string_table {
	const char *bytes;
	size_t len;
};

/* The segment whose memory (file bytes only) holds @elf_vaddr, or NULL. */
const struct segment *object_segment_of(const struct object *object, uint64_t elf_vaddr);

/* Read soname and needed libraries. Returns 0, -ENOEXEC or -ENOMEM. */
int object_read_dynamic(struct object *object, struct ubp_err *err);

void object_free_debug(struct object *object);

/* The first section of @type, or NULL. *ret_header is filled. */
Elf_Scn *object_section_of_type(const struct object *object, uint32_t type,
				GElf_Shdr *ret_header);

/*
 * The contents of @section, @raw: in the file's byte order. Owned by the Elf. NULL:
 * none, it can't be read, or it is longer than SECTION_LEN_MAX.
 */
Elf_Data *object_section_data(Elf_Scn *section, bool raw);

/* The strings of section @index. Returns 0, or -ENOEXEC with a text. */
int object_string_table(const struct object *object, size_t index,
			struct string_table *ret_table, struct ubp_err *err);

/* The same two of any ELF file; @path is for messages. */
Elf_Scn *section_of_type(Elf *elf, uint32_t type, GElf_Shdr *ret_header);
int section_strings(Elf *elf, const char *path, size_t index, struct string_table *ret_table,
		    struct ubp_err *err);

/* A number of @len bytes (1, 2, 4, 8) in the byte order of the object. */
uint64_t object_number(const struct object *object, const uint8_t *bytes, size_t len);

/* The rest of @table at @at, or NULL when outside. */
static inline const char *string_at(const struct string_table *table, uint64_t at)
{
	return at < table->len ? table->bytes + at : NULL;
}

#endif
