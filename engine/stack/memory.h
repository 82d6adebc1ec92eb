/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory of a stopped thread, mostly its stack, read in large pieces: one system call is enough
 * for most stacks, and their number is bounded.
 */

#ifndef UBP_STACK_MEMORY_H
#define UBP_STACK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STACK_WINDOW   0x4000
#define STACK_FIRST    0x2000 /* bytes above the stack pointer that are read at once */
#define STACK_WINDOWS  8
#define STACK_READS    64  /* system calls for one stack */
#define STACK_LOOKBACK 256 /* registers are saved below the return address */

struct trace_mem;

struct stack_window {
	uint64_t vaddr;
	size_t len;
	uint8_t bytes[STACK_WINDOW];
};

struct stack_memory {
	const struct trace_mem *mem;
	pid_t tid;
	unsigned n_reads;
	unsigned last, next; /* window: used last; to be filled next */
	struct stack_window windows[STACK_WINDOWS];
};

/* A new stack: thread @tid is stopped with stack pointer @sp. @mem as of mem_read(). */
void stack_memory_begin(struct stack_memory *memory, const struct trace_mem *mem, pid_t tid,
			uint64_t sp);
/* Forget all that was read: a new stack, of which nothing is read yet. */
void stack_memory_forget(struct stack_memory *memory, const struct trace_mem *mem, pid_t tid);
/* As many system calls may be made once more. */
void stack_memory_again(struct stack_memory *memory);
/* Any bytes, up to 64. False: they can't be read, or too much was. */
bool stack_memory_read(struct stack_memory *memory, uint64_t vaddr, void *buf, size_t len);

#endif
