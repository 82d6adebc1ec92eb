/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The laboratory (lab.h) on an x86-64 host, for code of 64 bits or of 32 (x86_bits.h). */

#ifndef UBP_TESTS_X86_LAB_H
#define UBP_TESTS_X86_LAB_H

#ifdef __x86_64__

#include "tests/unit/lab.h"
#include "tests/unit/x86_run.h"

#if RUN_BITS == 64
#define LAB_MEM 0x2b0000000000ull
#elif defined(__SANITIZE_ADDRESS__)
#define LAB_MEM 0x2b000000ull
#else
#define LAB_MEM 0xab000000ull /* as a number of 32 bits it would be negative */
#endif
#define LAB_HIGH (LAB_MEM + LAB_HIGH_AT)
#define LAB_END  (LAB_MEM + LAB_END_AT)

#define LAB_SITE (RUN_CODE - 5)

/* The function at LAB_SITE, with what return probes need. */
#define LAB_BODY        RUN_CODE
#define LAB_HOME        (RUN_BASE + 0x100)                   /* an exit, that is returned to */
#define LAB_RETURN_CODE (RUN_BLOCK + RUN_BLOCK_SIZE - 0x400) /* the common one */
#define LAB_TRAMPOLINE  (RUN_BLOCK + RUN_BLOCK_SIZE - 0x40)

/* From a signal handler: the function, for LAB_NESTED. */
void lab_call_nested(void);
/* What the kernel may do when it calls a handler: write below the stack pointer, beyond what
 * programs of this kind may keep there. */
void lab_scribble_below(uint64_t sp);

/* Everything there is, mapped. run_init() comes first. */
void lab_make(void);
/* Both: a group's setup. */
int lab_set_up(void **state);

/* Run it. */
void lab_run(const struct run_regs *regs, uint64_t seed, run_step_fn *step, void *arg,
	     struct run_end *ret_end);

/* The probe whose trap it ended with, on return + LAB_ON_RETURN; or -1. */
int lab_trap(const struct run_end *end);
/* It ended with a fault of memory. */
bool lab_faulted(const struct run_end *end);
/* All registers, flags, and the stack from the red zone on, must be as before. */
void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end);

/* The function does nothing but return, to LAB_HOME, from @before; no return is hijacked. */
void lab_function_start(const struct run_regs *before, struct run_regs *ret_after);

#endif
#endif
