/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Static probes (USDT) that programs carry in .note.stapsdt. */

#ifndef UBP_ELF_NOTES_H
#define UBP_ELF_NOTES_H

#include <stdint.h>

struct object;

struct object_note {
	uint64_t elf_vaddr; /* of the probe's nop */
	uint64_t semaphore; /* elf_vaddr; 0: none */
	uint64_t base;      /* as it stands in the note; the others are put right by it */
	/* Owned by the object. */
	const char *provider, *name, *args;
};

/*
 * All notes, in the file's order. Stops when @each returns non-zero, and returns that.
 * What makes no sense is passed over.
 */
int object_each_note(struct object *object,
		     int (*each)(void *ctx, const struct object_note *note), void *ctx);

#endif
