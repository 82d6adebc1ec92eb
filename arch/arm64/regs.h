/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Registers: their numbers, which are places in struct ubp_regs, and their names. */

#ifndef UBP_ARCH_ARM64_REGS_H
#define UBP_ARCH_ARM64_REGS_H

#include <stddef.h>

/* Order of struct user_pt_regs, which other hosts don't have; what follows pstate is
 * none of it and is read by itself. */
enum arm64_reg_index {
	ARM64_X0,
	ARM64_X8 = 8,
	ARM64_X16 = 16,
	ARM64_X17 = 17,
	ARM64_X28 = 28,
	ARM64_X29 = 29, /* the frame pointer */
	ARM64_X30 = 30, /* the link register */
	ARM64_SP,
	ARM64_PC,
	ARM64_PSTATE,
	ARM64_TP, /* TPIDR_EL0 */
	ARM64_N_REGS,
};

/* NZCV of pstate. */
#define ARM64_FLAG_V 0x10000000
#define ARM64_FLAG_C 0x20000000
#define ARM64_FLAG_Z 0x40000000
#define ARM64_FLAG_N 0x80000000

#define ARM64_BTYPE   0xc00 /* of pstate: the last branch was an indirect one */
#define ARM64_VECTORS 32

/* arch_reg.by_name: the place in struct ubp_regs of a register that fetch args of the kernel's have, or -1. */
int arm64_reg_by_name(const char *name, size_t len);
const char *arm64_reg_name(size_t i);
/* arch_reg.more_by_name: the place of a register that they do not have, or -1. */
int arm64_more_reg_by_name(const char *name, size_t len);

#endif
