/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files that stacks lead through; for symbolise.c. */

#ifndef UBP_STACK_NAMED_FILE_H
#define UBP_STACK_NAMED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/base/map.h"
#include "engine/files/debug.h"

struct cfi;
struct dwarf;
struct mapping;
struct maps;
struct object;

struct named_file {
	struct object *object; /* NULL: it could not be opened, or was left to another thread */
	bool is_left;          /* for that reason: it is not opened again */
	struct dwarf *dwarf;   /* NULL: none, or not asked for yet */
	bool no_dwarf;
	struct cfi *cfi; /* NULL: not asked for yet */
	uint64_t dev, ino;
	pid_t pid;               /* by which that was tried last */
	struct named_file *next; /* of the same key */
};

/* Zero-initialise, but for the first three. */
struct named_files {
	struct object_debug_options debug;
	const struct object *(*known)(void *ctx, uint64_t dev, uint64_t ino); /* or NULL */
	void *ctx;
	struct map by_id;
	struct named_file *vdso;
	bool no_vdso;
};

/* The file of a mapping that process @pid has, or had, one of @maps. NULL: it has none, or that is out of reach. */
struct named_file *named_file_of(struct named_files *files, pid_t pid, const struct maps *maps,
				 const struct mapping *m);
/* NULL: it has no debug information. */
struct dwarf *named_file_dwarf(struct named_file *file);
/*
 * Does code there return from a signal handler? Who was interrupted is next on the stack then,
 * not called: its address is that of the next instruction.
 */
bool named_file_is_signal_frame(struct named_file *file, uint64_t elf_vaddr);
/* Somebody else will free it, by named_file_free(): from now on @files have @mark, zero-initialised, in its place. */
void named_files_leave(struct named_files *files, struct named_file *file,
		       struct named_file *mark);
void named_file_free(struct named_file *file);
void named_files_free(struct named_files *files);

#endif
