/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files of the arm64 back-end share.
 *
 * decode.c knows bits, classify.c decides what may be displaced and how, slot.c writes
 * the code for it, window.c for what stands under a jump, refs.c looks for who jumps
 * where, regs.c and frame.c the registers.
 */

#ifndef UBP_ARCH_ARM64_ARM64_H
#define UBP_ARCH_ARM64_ARM64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

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

#define ARM64_INSN     4
#define ARM64_VECTORS  32
#define ARM64_NOP      0xd503201f
#define ARM64_BRK      0xd4200000 /* | immediate << 5 */
#define ARM64_BRK_MASK 0xffe0001f

/* How far b and bl lead, either way. */
#define ARM64_B_REACH 0x8000000

/* The functions behind ubp_arch_arm64, see arch/arch.h. */
int arm64_reg_by_name(const char *name, size_t len);
int arm64_more_reg_by_name(const char *name, size_t len);
int arm64_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);

/* x0..x30, sp, pc. */
#define ARM64_N_DWARF_REGS 33
extern const uint8_t arm64_dwarf_regs[ARM64_N_DWARF_REGS];
extern const uint16_t arm64_sigframe_at[ARM64_N_DWARF_REGS];
bool arm64_is_sigreturn(const uint8_t *code, size_t len);

#endif
