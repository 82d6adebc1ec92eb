/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of an open object: for those who read ELF files, in engine/elf, files, symbols and code. */

#ifndef UBP_ELF_OBJECT_PRIV_H
#define UBP_ELF_OBJECT_PRIV_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/annex.h"
#include "engine/elf/object.h"

struct chunks;

/* A PT_LOAD segment. */
struct segment {
	uint64_t foffset, file_len; /* bytes in the file */
	uint64_t elf_vaddr, mem_len;
	bool is_exec;
};

struct object {
	char *path;
	int fd;
	struct chunks *chunks; /* of fd: what was read last */
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
	uint64_t init, fini;    /* DT_INIT, DT_FINI, elf_vaddr; 0: none */
	bool has_no_code;       /* object_has_no_code() */
	bool is_go;             /* object_is_go(), which is asked for each window */
	struct annexes annexes; /* what is read on first use, by others */
};

/* The segment whose memory (file bytes only) holds @elf_vaddr, or NULL. */
const struct segment *object_segment_of(const struct object *object, uint64_t elf_vaddr);

/* Read soname, needed libraries, and where the file is called at its begin and end. Returns 0, -ENOEXEC or -ENOMEM. */
int object_read_dynamic(struct object *object, struct ubp_err *err);

/* A number of @len bytes (1, 2, 4, 8) in the byte order of the object. */
uint64_t object_number(const struct object *object, const uint8_t *bytes, size_t len);

#endif
