/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The files that stacks lead through, opened once, and what is known of places in them: kept by
 * file, so that all processes that map it, and later children, have it at once.
 */

#ifndef UBP_STACK_FILES_H
#define UBP_STACK_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "engine/base/map.h"
#include "engine/elf/cfi.h"
#include "engine/stack/perf_map.h"
#include "engine/trace/mem.h"

struct mapping;

/* A place in code, where a frame stands. */
struct stack_place {
	struct cfi_row *row; /* NULL: nothing is known */
	bool is_sigreturn;   /* what a signal handler returns to */
	bool is_start;       /* of a function: asked only without row */
};

struct stack_file;

/* Zero-initialise, but for .arch and .warn. */
struct stack_files {
	const struct ubp_arch *arch;
	struct perf_map_warn warn;  /* of a file that has more than can be read at a hit */
	struct map by_id;           /* hash of device and number -> struct stack_file */
	struct stack_file *vdso[2]; /* of 32-bit and 64-bit programs; NULL: not met yet */
	size_t n;
	unsigned generation; /* counts up when files are forgotten */
};

void stack_files_free(struct stack_files *files);

/*
 * The file of a mapping of @tid, whose memory is @mem. NULL: there is none, or it can't be had.
 * It stays until @files->generation changes, at the next call here.
 */
struct stack_file *stack_file_of(struct stack_files *files, pid_t tid,
				 const struct trace_mem *mem, const struct mapping *m);

/*
 * @pc in mapping @m of @file. @is_call: it is behind a call, and the caller's place is the call;
 * else it is where the thread goes on. NULL: out of memory. Until the next call.
 */
const struct stack_place *stack_file_place(struct stack_files *files, struct stack_file *file,
					   const struct mapping *m, uint64_t pc, bool is_call);

#endif
