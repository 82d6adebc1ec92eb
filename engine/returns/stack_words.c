/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/stack_words.h"

#include <stddef.h>
#include <string.h>

#include "engine/os/maps.h"
#include "engine/trace/mem.h"

#define CHUNK 0x10000
/* Stacks may lie in heaps. */
#define MOST 0x2000000ULL

bool stack_words(const struct maps *maps, const struct trace_mem *mem, pid_t tid, uint64_t sp,
		 size_t word_size, void (*each)(void *ctx, uint64_t word), void *ctx)
{
	const struct mapping *m = maps_at(maps, sp);
	uint64_t at = sp & ~(uint64_t)(word_size - 1), end = m ? m->end : at;
	uint8_t words[CHUNK];

	if (end - at > MOST)
		end = at + MOST;
	while (at < end) {
		size_t len = end - at < sizeof(words) ? end - at : sizeof(words);
		size_t got = mem_read(mem, tid, at, words, len);

		for (size_t i = 0; i + word_size <= got; i += word_size) {
			uint64_t word = 0;

			memcpy(&word, words + i, word_size);
			each(ctx, word);
		}
		if (got < len)
			return false;
		at += got;
	}
	return true;
}
