/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Runs a few arm64 instructions with chosen registers, natively (or under an emulator of
 * programs): a signal handler puts all registers in, the next signal takes them out again.
 * Memory lies at fixed addresses. All code but what a test writes is breakpoints.
 */

#ifndef UBP_TESTS_ARM64_RUN_H
#define UBP_TESTS_ARM64_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/run_next.h"

#define RUN_CODE       UINT64_C(0x40000000) /* the program; branches lead around in it */
#define RUN_CODE_SIZE  0x40000
#define RUN_DATA       UINT64_C(0x50000000)
#define RUN_DATA_SIZE  0x4000
#define RUN_STACK      UINT64_C(0x51000000)
#define RUN_STACK_SIZE 0x4000
#define RUN_SLOTS_SIZE 0x1000

typedef uint64_t run_word;
#define RUN_WORD 8

struct run_vector {
	uint64_t low, high;
};

struct run_regs {
	uint64_t x[31], sp, pc, pstate;
	struct run_vector v[32];
	uint32_t fpsr;
};

struct run_end {
	struct run_regs regs;
	int signo; /* SIGTRAP: came to a breakpoint */
	uint8_t data[RUN_DATA_SIZE], stack[RUN_STACK_SIZE];
};

/* Once: maps memory; slots at each of @slots. Returns 0, or -1 with errno. */
int run_begin(const uint64_t *slots, size_t n);

/* In each test: cmocka has handlers of its own. */
int run_take_signals(void);

/* The same for the same seed. Registers of which some point into the data. */
void run_random(uint64_t seed, struct run_regs *ret_regs);
void run_random_memory(uint64_t seed);

void run_write(uint64_t vaddr, const void *code, size_t len);
void run_write_word(uint64_t vaddr, uint32_t word);
/* Breakpoints there. */
void run_clear(uint64_t vaddr, size_t len);

/* At a breakpoint: may change the registers. True: go on with them. */
typedef bool run_trap_fn(struct run_regs *regs, void *arg);
/* Asked at each breakpoint of a run from now on, before that ends it; NULL: nobody. */
void run_on_trap(run_trap_fn *fn, void *arg);

/* From regs->pc on to the first signal. Memory as it is. */
void run_code(const struct run_regs *regs, struct run_end *ret_end);

#endif
