/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * One debug file of an object: opened, and known to belong to it. It is trusted no more than the
 * object. For those who read ELF files; others have debug.h.
 */

#ifndef UBP_FILES_DEBUG_FILE_H
#define UBP_FILES_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/files/debug_options.h"

#define BUILD_ID_MAX 64

struct build_id {
	const void *bytes;
	size_t len; /* 0: it has none */
};

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
	uint64_t sources_ns; /* what was taken to find sources */
	bool sources_late;   /* more than is good: none is looked for any more */
};

/* Of @object, made on first use. NULL: memory is short. */
struct object_debug *debug_of(struct object *object);

/* Why a file is of no use, if nothing was said of another yet: debug_say_sought() tells it. */
__attribute__((format(printf, 2, 3))) void debug_note_misfit(struct object *object,
							     const char *fmt, ...);

/* What to look for. */
struct debug_wanted {
	const void *build_id;
	size_t build_id_len; /* 0: it has none, and the checksum must be right */
	const char *link;    /* a file's name, or NULL */
	uint32_t crc;
	const char *alt;  /* a path, as dwz writes it, or NULL */
	const char *near; /* the file to whose folder .alt is relative; NULL: the object */
};

/*
 * Open @path if it is what is wanted. Returns 0 or -errno; if it is not, that is noted
 * (debug_note_misfit()).
 */
int debug_open_candidate(struct object *object, const char *path,
			 const struct debug_wanted *wanted, struct debug_file *ret_file);
/*
 * Open @path, which the user gave, if it belongs to the object. Returns 0 or -errno; @text, which
 * was empty, says then why not.
 */
int debug_open_given(struct object *object, const char *path, struct debug_file *ret_file,
		     char *text, size_t size);
/* NULL: it is a file of the same machine; .bias is set. Else why it is not. */
const char *debug_check_kind(const struct object *object, struct debug_file *file);
void debug_file_close(struct debug_file *file);

/* The contents of the section with that name; NULL: none such. Owned by @elf. */
Elf_Data *debug_section(Elf *elf, const char *name);

/* In hexadecimal digits; returns @text. */
const char *debug_spell_id(struct build_id id, char text[2 * BUILD_ID_MAX + 1]);
/* Owned by @elf. */
struct build_id debug_build_id(Elf *elf);

#endif
