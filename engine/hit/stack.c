/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/stack.h"

#include <string.h>

#include "engine/returns/returns.h"
#include "engine/stack/frame_pointers.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

struct reader {
	struct hit *hit;
	const struct tracee *t;
	uint64_t page; /* of the last frame */
};

static bool read_frame(void *ctx, uint64_t vaddr, uint64_t frame[2])
{
	struct reader *reader = ctx;
	struct hit *hit = reader->hit;
	uint64_t page = vaddr >> 12;

	size_t size = reader->t->process->space->arch->addr_size;
	uint8_t words[2 * sizeof(frame[0])];

	/* Where there are no frame pointers this is anything at all: no more than a call for it. */
	if (mem_read_ahead(&reader->t->process->space->mem, reader->t->tid, vaddr, words,
			   2 * size) != 2 * size)
		return false;
	frame[0] = frame[1] = 0;
	memcpy(&frame[0], words, size);
	memcpy(&frame[1], words + size, size);
	if (page != reader->page && hit->n_seen < HIT_SEEN)
		hit->seen[hit->n_seen++] = vaddr;
	reader->page = page;
	return true;
}

static uint64_t real_return(void *ctx, uint64_t slot_vaddr, uint64_t found)
{
	return returns_real(((struct reader *)ctx)->t->process->space, slot_vaddr, 0, found);
}

size_t stack_take(struct hit *hit, const struct tracee *t, const struct ubp_regs *regs,
		  uint64_t *stack, size_t max)
{
	struct reader reader = { .hit = hit, .t = t };
	struct stack_source source = { read_frame, real_return, &reader };

	return stack_walk(t->process->space->arch, regs, &source, stack, max);
}
