/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a held thread's stack holds: frames of signal handlers keep where it was. */

#ifndef UBP_RETURNS_STACK_WORDS_H
#define UBP_RETURNS_STACK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct maps;
struct trace_mem;

/*
 * @each(@ctx, word) for all words (of @word_size bytes) of @tid's memory from @sp to the end of the mapping
 * that it is in. What is mapped behind it is not its stack: constants of a library may look
 * like anything. @mem as of mem_read(). False: some of them can't be read.
 */
bool stack_words(const struct maps *maps, const struct trace_mem *mem, pid_t tid, uint64_t sp,
		 size_t word_size, void (*each)(void *ctx, uint64_t word), void *ctx);

#endif
