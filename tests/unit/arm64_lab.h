/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The laboratory (lab.h) on an arm64 host. */

#ifndef UBP_TESTS_ARM64_LAB_H
#define UBP_TESTS_ARM64_LAB_H

#ifdef __aarch64__

#include "tests/unit/arm64_run.h"
#include "tests/unit/lab.h"

#define LAB_MEM  0x2b0000000000ull
#define LAB_HIGH (LAB_MEM + LAB_HIGH_AT)
#define LAB_END  (LAB_MEM + LAB_END_AT)

#define LAB_SITE       (RUN_CODE + 0x200)
#define LAB_GATE       (RUN_CODE + 0x38000)
#define LAB_BLOCK      (RUN_CODE + 0x10000) /* room for detours */
#define LAB_BLOCK_SIZE 0x20000

/* The function at LAB_SITE, with what return probes need. */
#define LAB_BODY        (LAB_SITE + 4)
#define LAB_HOME        (RUN_CODE + 0x100) /* a breakpoint, that is returned to */
#define LAB_RETURN_CODE (LAB_BLOCK + LAB_BLOCK_SIZE - 0x400) /* the common one */
#define LAB_TRAMPOLINE  (LAB_BLOCK + LAB_BLOCK_SIZE - 0x40)

/* The shortest duration that the clock tells. */
#define LAB_SHORTEST_NS 0

/* By their part, in struct run_regs and as args of probes name them: four that hold what the
 * test says, those of stacks, one more and a vector. */
#define LAB_R0      x[0]
#define LAB_R1      x[1]
#define LAB_R2      x[2]
#define LAB_R3      x[3]
#define LAB_SP      sp
#define LAB_BP      x[29]
#define LAB_VECTORS regs.v /* in struct run_end */
#define R0          "%x0"
#define R1          "%x1"
#define R2          "%x2"
#define R3          "%x3"
#define R4          "%x9"
#define V0          "%v7"
#define PC          "%pc"
#define OTHERS      "l=%lr r=%x14 b=%x17 w=%x16" /* args */
#define FLAGS       "pstate"                     /* no detour reads them */

/* This thread's processor, as the detour is told. */
extern uint32_t lab_cpu;

/* From regs->pc on. */
void lab_run_from(const struct run_regs *regs, struct run_end *ret_end);

#endif
#endif
