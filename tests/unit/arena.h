/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The program of the corpus of values (tests/corpus/valtgt.c) as fake memory and
 * register sets: the same data at the same addresses, the same hits in the same
 * order, without a process.
 */

#ifndef UBP_TESTS_ARENA_H
#define UBP_TESTS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "tests/unit/fake_memory.h"

#define ARENA	    0x110000000u
#define ARENA_STRS  0x110010000u
#define ARENA_EDGE  0x110200000u
#define ARENA_LAZY  0x110300000u
#define ARENA_WONLY 0x110400000u
#define ARENA_XONLY 0x110500000u
#define ARENA_ROPG  0x110600000u
#define ARENA_STACK 0x120000000u

struct arena {
	struct fake_memory memory;
	uint64_t next_string;
	uint64_t texts[20], big[35], flt[6];
};

/* Build the memory as it is when @point is reached. Free with fake_memory_free(). */
void arena_init(struct arena *arena, const char *point);

/*
 * Registers and task name of hit @i of @point; false behind the last one. May
 * change memory as the program does between hits.
 */
bool arena_hit(struct arena *arena, const char *point, size_t i, struct ubp_regs *regs,
	       const char **ret_comm);

#endif
