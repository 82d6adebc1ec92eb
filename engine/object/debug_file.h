/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Files beside an object, inside of this folder: opened, and known to belong to it. A debug
 * file is trusted no more than the object. Nothing is looked for until it is asked for.
 */

#ifndef UBP_OBJECT_DEBUG_FILE_H
#define UBP_OBJECT_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/object/debug.h"

#define BUILD_ID_MAX 64

struct debug_file {
	char *path; /* for messages */
	int fd;     /* -1: it is .image */
	uint64_t size;
	void *image;
	Elf *elf;     /* NULL: there is no such file */
	int64_t bias; /* to be added to its addresses: elf_vaddrs of the object */
};

/* What has been looked for, and found. */
struct object_debug {
	struct object_debug_options options;
	struct debug_file given, embedded, separate, alt;
	bool sought_given, sought_embedded, sought_separate, sought_alt;
	char given_misfit[256]; /* why .options.symbols is of no use, or "" */
	char misfit[256];       /* a file where one was looked for, and why it is of no use */
	uint64_t crc_len;       /* of files whose checksum was made */
	Dwarf *dwarf, *alt_dwarf;
	Dwarf_CFI *cfi, *frames; /* of .eh_frame; of .debug_frame, the dwarf's */
	bool has_cfi, has_frames, cfi_left_out, frames_left_out;
	int64_t dwarf_bias;
};

/* Of @object, made on first use. NULL: memory is short. */
struct object_debug *debug_of(struct object *object);

/* The file of .options.symbols. NULL: none was given, or it does not belong to the object. */
const struct debug_file *debug_given(struct object *object);
/* What .gnu_debugdata holds: names of functions. NULL: there is none, or it is corrupt. */
const struct debug_file *debug_embedded(struct object *object);
/* The file that was split off, by build-id or .gnu_debuglink. NULL: not found. */
const struct debug_file *debug_separate(struct object *object);
/* What several debug files share (dwz), for @elf at @path, a file of DWARF. NULL: not found. */
const struct debug_file *debug_alt(struct object *object, Elf *elf, const char *path);

/* "looked for A and B; ...": what can be done where there is no separate file. */
void debug_say_sought(struct object *object, char *text, size_t size);

void debug_file_close(struct debug_file *file);

/* The section with that name and bytes in the file. NULL: none such. */
Elf_Scn *debug_find_section(Elf *elf, const char *name, GElf_Shdr *ret_header);
/* The section's contents, with its size in *ret_header; NULL: none such. Owned by @elf. */
Elf_Data *debug_section(Elf *elf, const char *name, GElf_Shdr *ret_header);

/*
 * Decompress xz. *ret_image is malloc()ed. Returns 0; -EBADMSG: corrupt; -EFBIG: too much comes
 * out of it; -ENOMEM; -EINTR: cancelled.
 */
int debug_unpack(const void *bytes, size_t len, void **ret_image, size_t *ret_len);

#endif
