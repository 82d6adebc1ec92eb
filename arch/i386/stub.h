/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stub for remote system calls, and what else is done to the registers of a stopped
 * thread. What struct ubp_arch (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_I386_STUB_H
#define UBP_ARCH_I386_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* May the thread have stopped by a breakpoint, by its registers? */
bool i386_came_by_exception(const struct ubp_regs *regs);
/* Have the system call that a stop interrupted made again. */
void i386_restart_syscall(struct ubp_regs *regs);
/* Frame of a thread that is to go on as @orig behind its remote call. */
void i386_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		     uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
/* Number and arguments of the call, to the frame. */
void i386_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
/* Of a thread that is about to make a call: let it be this one. */
void i386_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
/* What the call has returned. */
int64_t i386_syscall_result(const struct ubp_regs *regs);
/* What the tracer replaces return addresses by. */
int i386_build_return_trampoline(struct slot_code *ret_code);
/* Registers of a thread that goes on from its breakpoint. */
void i386_leave_trampoline(struct ubp_regs *regs);
/* An action for a signal as the kernel takes it. */
void i386_pack_action(uint64_t handler, uint64_t flags, uint64_t restorer,
		      uint64_t ret_action[4]);

/* The stub: see stub.c. */
#define I386_STUB_LEN         44
#define I386_STUB_SYSCALL_END 29
#define I386_STUB_BUFFER_AT   56
extern const uint8_t i386_stub[I386_STUB_LEN];

/* System calls by the numbers of 32-bit programs. */
enum i386_nr {
	I386_NR_RESTART_SYSCALL = 0,
	I386_NR_READ = 3,
	I386_NR_CLOSE = 6,
	I386_NR_MUNMAP = 91,
	I386_NR_MPROTECT = 125,
	I386_NR_MREMAP = 163,
	I386_NR_PRCTL = 172,
	I386_NR_RT_SIGACTION = 174,
	I386_NR_RT_SIGPROCMASK = 175,
	I386_NR_MMAP2 = 192,
	I386_NR_MADVISE = 219,
	I386_NR_MEMFD_CREATE = 356,
};

#endif
