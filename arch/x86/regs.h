/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Registers: their numbers, which are places in struct ubp_regs, and their names. */

#ifndef UBP_ARCH_X86_REGS_H
#define UBP_ARCH_X86_REGS_H

#include <stddef.h>

/* Order of struct user_regs_struct, which other hosts don't have. */
enum user_reg {
	X86_R15,
	X86_R14,
	X86_R13,
	X86_R12,
	X86_BP,
	X86_BX,
	X86_R11,
	X86_R10,
	X86_R9,
	X86_R8,
	X86_AX,
	X86_CX,
	X86_DX,
	X86_SI,
	X86_DI,
	X86_ORIG_AX,
	X86_IP,
	X86_CS,
	X86_FLAGS,
	X86_SP,
	X86_SS,
	X86_FS_BASE,
	X86_GS_BASE,
	X86_DS,
	X86_ES,
	X86_FS,
	X86_GS,
	X86_N_REGS,
};

#define X86_VECTORS 16 /* xmm0..xmm15 */

#define X86_FLAG_TF 0x100
/* Carry, parity, auxiliary carry, zero, sign, direction, overflow. */
#define X86_FLAGS_OWN 0xcd5
#define X86_FLAG_DF   0x400

/* arch_reg.by_name: the place in struct ubp_regs of a register that fetch args of the kernel's have, or -1. */
int x86_reg_by_name(const char *name, size_t len);
const char *x86_reg_name(size_t i);
/* arch_reg.more_by_name: the place of a register that they do not have, or -1. */
int x86_more_reg_by_name(const char *name, size_t len);

#endif
