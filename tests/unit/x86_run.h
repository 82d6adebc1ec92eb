/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Run a piece of machine code in this process with given registers, memory and
 * stack, up to one of the planted exits or a fault, and see what it did. Only on
 * an x86-64 host. With RUN_BITS 32 the code is for 32 bits, all lies below 4 GiB, and the
 * names begin with run32_ (tests/unit/x86_bits.h).
 *
 * One region at a fixed address: code, then slots, then data, then a stack.
 */

#ifndef TESTS_UNIT_X86_RUN_H
#define TESTS_UNIT_X86_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "tests/unit/run_next.h"
#include "tests/unit/x86_bits.h"

#if RUN_BITS == 32
#define RUN_BASE 0x2a000000ull
#define RUN_GPRS 8
typedef uint32_t run_word;
#else
#define RUN_BASE 0x2a0000000000ull
#define RUN_GPRS 16
typedef uint64_t run_word;
#endif
#define RUN_WORD (RUN_BITS / 8)

#define RUN_CODE       (RUN_BASE + 0x840) /* an instruction under test ends here */
#define RUN_SLOT       (RUN_BASE + 0x1040)
#define RUN_DATA       (RUN_BASE + 0x2000)
#define RUN_DATA_SIZE  0x3000
#define RUN_STACK      (RUN_BASE + 0x8000)
#define RUN_STACK_SIZE 0x2000
#define RUN_SP         (RUN_STACK + RUN_STACK_SIZE / 2)
#define RUN_GATE       (RUN_BASE + 0xb000) /* a page for what is near the code */
#define RUN_BLOCK      (RUN_BASE + 0xc000) /* room for detours */
#define RUN_BLOCK_SIZE 0x14000
#define RUN_SIZE       0x24000
#define RUN_EXITS      (RUN_BASE + 0x20000) /* 32 bits: the way back to 64; then a stack */
#define RUN_FAR        0x3a0000000000       /* room for a slot that no rel32 reaches */

#define RUN_RIP   "0x27c0"         /* from RUN_CODE to the middle of the data */
#define RUN_MOFFS "0x2a0000003000" /* that address */

/* In the order of their encoding. */
enum run_reg { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, R12, R13, R14, R15 };

#define RUN_XSAVE_MAX 4096

struct run_regs {
	uint64_t gpr[16];
	uint64_t flags; /* those that programs see */
};

/* What a run ended in. */
struct run_end {
	struct run_regs regs;
	int exit;    /* number of the exit, or -1 */
	int signo;   /* the fault, if none was reached */
	uint64_t pc; /* of the fault */
	uint8_t xstate[RUN_XSAVE_MAX];
	uint8_t data[RUN_DATA_SIZE];
	uint8_t stack[RUN_STACK_SIZE];
};

/* Called at each step with the registers; may change them. */
typedef void run_step_fn(struct ubp_regs *regs, void *arg);

/* Map the regions, take over the fault signals: a group's setup. */
int run_init(void **state);

/* Plant exit @exit (0..2) at an address in the regions. Changes no register. */
void run_plant_exit(uint64_t vaddr, int exit);

/* Put bytes there. */
void run_write(uint64_t vaddr, const void *bytes, size_t len);

/* Random registers as insn_forms.h wants them, data and stack, from @seed. */
void run_random(uint64_t seed, struct run_regs *ret_regs);

/*
 * Run the code at @entry with these registers, the vector state of @seed, and
 * memory as it is. @step: single-step, unless NULL.
 */
void run_code(uint64_t entry, const struct run_regs *regs, uint64_t seed, run_step_fn *step,
	      void *arg, struct run_end *ret_end);

/* The low halves of the vector registers that code runs with. */
void run_vectors(uint64_t seed, struct ubp_vectors *ret_vectors);

/* Assert that two runs did the same; @what names them. */
void run_assert_same(const char *what, const struct run_end *a, const struct run_end *b,
		     const bool ignore_gpr[16]);

#if RUN_BITS == 32
/* Call a function for 32 bits with edi and esi, on a stack of its own. */
void run_call(uint32_t vaddr, uint32_t di, uint32_t si);
/* What %gs:0 holds. */
#define RUN_TCB (RUN_BASE + 0xb800)
#endif

#endif
