/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A word on the stack of a stopped thread: an address of its program's. */

#ifndef UBP_RETURNS_WORD_H
#define UBP_RETURNS_WORD_H

#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* Return 0 or -errno. */
static inline int read_word(const struct tracee *t, uint64_t vaddr, uint64_t *ret_word)
{
	const struct space *space = t->process->space;
	long word;

	if (!mem_is_sure(&space->mem, t->tid)) {
		*ret_word = 0;
		return mem_read(&space->mem, t->tid, vaddr, ret_word, space->arch->addr_size) ==
				       space->arch->addr_size
			       ? 0
			       : -EIO;
	}
	errno = 0;
	word = again_ptrace(PTRACE_PEEKDATA, t->tid, vaddr, 0);
	if (word == -1 && errno)
		return -errno;
	*ret_word = (uint64_t)word;
	if (space->arch->addr_size == sizeof(uint32_t))
		*ret_word = (uint32_t)word;
	return 0;
}

static inline int write_word(const struct tracee *t, uint64_t vaddr, uint64_t word)
{
	const struct space *space = t->process->space;
	const uint32_t half = (uint32_t)word;

	if (space->arch->addr_size == sizeof(half))
		return mem_write(&space->mem, t->tid, vaddr, &half, sizeof(half));
	if (!mem_is_sure(&space->mem, t->tid))
		return mem_write(&space->mem, t->tid, vaddr, &word, sizeof(word));
	return again_ptrace(PTRACE_POKEDATA, t->tid, vaddr, word) < 0 ? -errno : 0;
}

#endif
