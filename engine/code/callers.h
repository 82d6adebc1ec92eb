/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How much of a file's own code leads to a place: a guess at how often it is passed, without running anything. */

#ifndef UBP_CODE_CALLERS_H
#define UBP_CODE_CALLERS_H

#include <stddef.h>
#include <stdint.h>

struct object;

struct called {
	uint64_t elf_vaddr;
	size_t n_calls;   /* told: calls and jumps with that target */
	const char *name; /* the caller's, who may sort them */
};

/*
 * Count for all @n of @places, in one look at every byte of the code: some milliseconds for each megabyte. Calls through pointers
 * and from other files are not seen. Returns 0 or -errno: -ENOMEM, -EIO, -EFBIG (the file is so large that it
 * would take long), -ENOTSUP (nobody knows calls of this instruction set).
 */
int callers_count(const struct object *object, struct called *places, size_t n);

#endif
