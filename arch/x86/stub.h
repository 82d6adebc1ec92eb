/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stub for remote system calls, and what else is done to the registers of a stopped
 * thread. What struct ubp_arch (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_X86_STUB_H
#define UBP_ARCH_X86_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* What the tracer replaces return addresses by. */
int x86_build_return_trampoline(struct slot_code *ret_code);
/* May the thread have stopped by a breakpoint, by its registers? */
bool x86_came_by_exception(const struct ubp_regs *regs);
/* Has the thread left its program's mode by a far jump? */
bool x86_in_other_mode(const struct ubp_regs *regs);
/* Code segments of 32-bit and of 64-bit programs. */
bool x86_is_cs_32(const struct ubp_regs *regs);
bool x86_is_cs_64(const struct ubp_regs *regs);

/* Have the system call that a stop interrupted made again. */
void x86_restart_syscall(struct ubp_regs *regs);
/* Have it made again in code of @bits bits, where restart_syscall() has the number @nr_restart. */
void x86_restart(struct ubp_regs *regs, unsigned bits, uint64_t nr_restart);
/* Frame of a thread that is to go on as @orig behind its remote call. */
void x86_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		    uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
/* Number and arguments of the call, to the frame. */
void x86_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
/* Registers that start the stub. */
void x86_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp);
/* Of a thread that is about to make a call: let it be this one. */
void x86_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
/* What the call has returned. */
int64_t x86_syscall_result(const struct ubp_regs *regs);

/* The stub: see stub.c. */
#define X86_STUB_LEN         58
#define X86_STUB_SYSCALL_END 36
#define X86_STUB_BUFFER_AT   56
extern const uint8_t x86_stub[X86_STUB_LEN];
/* For many calls. */
#define X86_BATCH_LEN     (69 + X86_STUB_LEN)
#define X86_BATCH_MADE    36
#define X86_BATCH_WRITTEN 44
#define X86_BATCH_END     (69 + X86_STUB_SYSCALL_END)
extern const uint8_t x86_batch[X86_BATCH_LEN];

/* The return trampoline's breakpoint becomes a short jump, to behind its prefix 0x2e. */
#define X86_WAY_HOME    0xeb
#define X86_WAY_HOME_AT (2 + 0x2e)
/* A trampoline of these bytes, whose way home leads to @go_back, an offset in the guard's code. */
void x86_make_trampoline(struct slot_code *ret_code, const uint8_t *code, size_t len,
			 uint32_t go_back);

#endif
