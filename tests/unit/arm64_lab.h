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

/* This thread's processor, as the detour is told. */
extern uint32_t lab_cpu;

/* A group's setup: everything there is, mapped. */
int lab_set_up(void **state);

/*
 * For each instruction of the detour, and of the return code if @returns: run from @regs, which
 * it is interrupted at when it first comes there: each() is told of that. Then check().
 */
struct lab_interruptions {
	const struct run_regs *regs;
	bool returns;
	void (*start)(void *arg); /* before each run */
	void (*each)(void *arg, uint64_t vaddr);
	void (*check)(void *arg, const struct run_end *end, bool was_interrupted);
	void *arg;
};
/* Returns at how many it was. */
unsigned lab_interrupt(const struct lab_interruptions *what);

/* Run it. */
void lab_run(const struct run_regs *regs, struct run_end *ret_end);
/* From regs->pc on. */
void lab_run_from(const struct run_regs *regs, struct run_end *ret_end);

/* The probe whose trap it ended with, on return + LAB_ON_RETURN; -1: it came out. */
int lab_trap(const struct run_end *end);
/* It ended with a fault of memory. */
bool lab_faulted(const struct run_end *end);
/* All registers, flags, and the stack from the red zone on, must be as before. */
void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end);

/* The function does nothing but return, to LAB_HOME, from @before; no return is hijacked. */
void lab_function_start(struct run_regs *before, struct run_regs *ret_after);
/* The same, but that it comes to a breakpoint first; who goes on there adds 4 to the pc. */
void lab_body_stops(void);

#endif
#endif
