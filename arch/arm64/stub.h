/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stub for remote system calls, and what else is done to the registers of a stopped
 * thread. What struct ubp_arch (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_ARM64_STUB_H
#define UBP_ARCH_ARM64_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/arm64/regs.h"

/* In struct ubp_more. */
struct arm64_more {
	uint64_t mask;    /* of signals */
	uint64_t sve_len; /* bytes of .sve; 0: the vector registers are all there is */
	struct {          /* NT_PRFPREG */
		uint64_t v[ARM64_VECTORS][2];
		uint32_t fpsr, fpcr, reserved[2];
	} fp;
	/* NT_ARM_SVE: a header of 16 bytes, registers of up to 2048 bits, fpsr and fpcr. */
	uint8_t sve[9152];
};

/* What the tracer replaces return addresses by. */
int arm64_build_return_trampoline(struct slot_code *ret_code);
/* Registers of a thread that goes on from its breakpoint. */
void arm64_leave_trampoline(struct ubp_regs *regs);

/* The stub: see stub.c. */
#define ARM64_STUB_LEN         56
#define ARM64_STUB_SYSCALL_END 44
#define ARM64_STUB_BUFFER_AT   64

/* What the stub's frame has for the alternate stack's flags, which no kernel writes; and where. */
#define ARM64_STUB_MODE           3
#define ARM64_STUB_MODE_BEFORE_SP 408
extern const uint8_t arm64_stub[ARM64_STUB_LEN];

/* Have the system call that a stop interrupted made again. */
void arm64_restart_syscall(struct ubp_regs *regs);
/* May only the rest of that call have to be made? */
bool arm64_may_resume(const struct ubp_regs *regs, const uint8_t code[8]);
/* Frame of a thread that is to go on as @orig behind its remote call. */
void arm64_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		      uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
/* Such a frame that is written below @top, on whatever stack that is. */
void arm64_stub_frame_below(uint64_t top, const struct ubp_regs *orig,
			    const struct ubp_more *more, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			    size_t *ret_len, uint64_t *ret_sp);
/* Number and arguments of the call, to the frame. */
void arm64_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
/* Registers that start the stub. */
void arm64_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp);
/* Registers that start the stub, to sign an address before its call. */
void arm64_stub_sign(struct ubp_regs *regs, uint64_t stub_vaddr, bool key_b);
/* Of a thread that is about to make a call: let it be this one. */
void arm64_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
/* What the call has returned. */
int64_t arm64_syscall_result(const struct ubp_regs *regs);
/* May the thread have stopped by a breakpoint, by its registers? */
bool arm64_came_by_exception(const struct ubp_regs *regs);

#endif
