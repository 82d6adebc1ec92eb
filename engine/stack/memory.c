/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/memory.h"

#include <string.h>

#include "engine/trace/mem.h"

static size_t load(struct stack_memory *memory, uint64_t vaddr, size_t len)
{
	struct stack_window *w = &memory->windows[memory->next];

	w->len = 0;
	if (memory->n_reads >= STACK_READS)
		return 0;
	memory->n_reads++;
	w->vaddr = vaddr;
	w->len = mem_read_ahead(memory->mem, memory->tid, vaddr, w->bytes, len);
	if (!w->len)
		return 0;
	memory->last = memory->next;
	memory->next = (memory->next + 1) % STACK_WINDOWS;
	return w->len;
}

void stack_memory_forget(struct stack_memory *memory, const struct trace_mem *mem, pid_t tid)
{
	memory->mem = mem;
	memory->tid = tid;
	memory->n_reads = memory->last = memory->next = 0;
	for (unsigned i = 0; i < STACK_WINDOWS; i++)
		memory->windows[i].len = 0;
}

void stack_memory_again(struct stack_memory *memory)
{
	memory->n_reads = 0;
}

void stack_memory_begin(struct stack_memory *memory, const struct trace_mem *mem, pid_t tid,
			uint64_t sp)
{
	stack_memory_forget(memory, mem, tid);
	(void)load(memory, sp, STACK_FIRST);
}

static bool copy(const struct stack_window *w, uint64_t vaddr, void *buf, size_t len)
{
	if (vaddr < w->vaddr || vaddr - w->vaddr > w->len ||
	    w->len - (size_t)(vaddr - w->vaddr) < len)
		return false;
	memcpy(buf, w->bytes + (vaddr - w->vaddr), len);
	return true;
}

bool stack_memory_read(struct stack_memory *memory, uint64_t vaddr, void *buf, size_t len)
{
	if (copy(&memory->windows[memory->last], vaddr, buf, len))
		return true;
	for (unsigned i = 0; i < STACK_WINDOWS; i++)
		if (copy(&memory->windows[i], vaddr, buf, len)) {
			memory->last = i;
			return true;
		}
	/* What is below may not be mapped. */
	if (vaddr >= STACK_LOOKBACK && load(memory, vaddr - STACK_LOOKBACK, STACK_WINDOW) &&
	    copy(&memory->windows[memory->last], vaddr, buf, len))
		return true;
	return load(memory, vaddr, STACK_WINDOW) &&
	       copy(&memory->windows[memory->last], vaddr, buf, len);
}
