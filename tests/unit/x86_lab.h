/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The laboratory (lab.h) on an x86-64 host, for code of 64 bits or of 32 (x86_bits.h). */

#ifndef UBP_TESTS_X86_LAB_H
#define UBP_TESTS_X86_LAB_H

#ifdef __x86_64__

#include "tests/unit/x86_run.h"

#include "tests/unit/lab.h" /* x86_bits.h has other names for what that declares */

#if RUN_BITS == 64
#define LAB_MEM 0x2b0000000000ull
#elif defined(__SANITIZE_ADDRESS__)
#define LAB_MEM 0x2b000000ull
#else
#define LAB_MEM 0xab000000ull /* as a number of 32 bits it would be negative */
#endif
#define LAB_HIGH (LAB_MEM + LAB_HIGH_AT)
#define LAB_END  (LAB_MEM + LAB_END_AT)

#define LAB_SITE  (RUN_CODE - 5)
#define LAB_GATE  RUN_GATE
#define LAB_BLOCK RUN_BLOCK

/* The function at LAB_SITE, with what return probes need. */
#define LAB_BODY        RUN_CODE
#define LAB_HOME        (RUN_BASE + 0x100)                   /* an exit, that is returned to */
#define LAB_RETURN_CODE (RUN_BLOCK + RUN_BLOCK_SIZE - 0x400) /* the common one */
#define LAB_TRAMPOLINE  (RUN_BLOCK + RUN_BLOCK_SIZE - 0x40)

/* The shortest duration that the clock tells. */
#define LAB_SHORTEST_NS 1

/* By their part, in struct run_regs and as args of probes name them: four that hold what the
 * test says, those of stacks, one more and a vector. */
#define LAB_R0      gpr[DI]
#define LAB_R1      gpr[SI]
#define LAB_R2      gpr[CX]
#define LAB_R3      gpr[DX]
#define LAB_SP      gpr[SP]
#define LAB_BP      gpr[BP]
#define LAB_VECTORS xstate /* in struct run_end */
#define R0          "%di"
#define R1          "%si"
#define R2          "%cx"
#define R3          "%dx"
#define R4          "%ax"
#define V0          "%xmm7"
#define PC          "%ip"
#define OTHERS      "r=%bx b=%bp" /* args */
#define FLAGS       "flags"       /* no detour reads them */

/* What the kernel may do when it calls a handler: write below the stack pointer, beyond what
 * programs of this kind may keep there. */
void lab_scribble_below(uint64_t sp);

/* Everything there is, mapped. run_init() comes first. */
void lab_make(void);

/* Where the function begins: at the site, or at what stands in front of it. */
uint64_t lab_start(void);

/* Where the C library keeps the thread's id, from the thread pointer on. 0: not in its page. */
int32_t lab_find_self(void);

/* lab_run(), a step at a time. */
void lab_run_steps(const struct run_regs *regs, run_step_fn *step, void *arg,
		   struct run_end *ret_end);

#endif
#endif
