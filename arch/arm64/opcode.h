/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of registers, conditions and opcodes, for what writes instructions (arch/arm64/emit.h). */

#ifndef UBP_ARCH_ARM64_OPCODE_H
#define UBP_ARCH_ARM64_OPCODE_H

#include <stdint.h>

/* Numbers of general registers are what they are called; 31 is one of these. */
#define G_ZR   31
#define G_SP   31
#define G_LINK 30
#define G_NONE (-1)

/* Clobbered where an immediate or a displacement does not fit into an instruction. */
#define G_TMP 9

enum cond {
	COND_EQ,
	COND_NE,
	COND_HS,
	COND_LO,
	COND_MI,
	COND_PL,
	COND_VS,
	COND_VC,
	COND_HI,
	COND_LS,
	COND_GE,
	COND_LT,
	COND_GT,
	COND_LE,
};

/* 64 bits; without it they are 32. */
#define OP_X 0x80000000U

/* rd, rn, rm; | op_shift() for the first of them. */
#define OP_ADD   0x0b000000U
#define OP_SUB   0x4b000000U
#define OP_SUBS  0x6b000000U
#define OP_AND   0x0a000000U
#define OP_ORR   0x2a000000U
#define OP_ANDS  0x6a000000U
#define OP_BIC   0x0a200000U
#define OP_LSRV  0x1ac02400U
#define OP_MUL   0x1b007c00U
#define OP_UMULH 0x1bc07c00U /* with OP_X alone */

/* rd, rn; rm is 0 */
#define OP_RBIT 0x5ac00000U
#define OP_CLZ  0x5ac01000U

/* The last operand shifted to the left. */
static inline uint32_t op_lsl(unsigned by)
{
	return by << 10;
}

/* Loads and stores, as they are with an offset in units of their size. */
#define OP_STR8   0x39000000U
#define OP_STR16  0x79000000U
#define OP_STR32  0xb9000000U
#define OP_STR64  0xf9000000U
#define OP_LDR8   0x39400000U
#define OP_LDR16  0x79400000U
#define OP_LDR32  0xb9400000U
#define OP_LDR64  0xf9400000U
#define OP_LDRS8  0x39c00000U /* to 32 bits */
#define OP_LDRS16 0x79c00000U

/* What takes one register, in its lowest bits. */
#define OP_GET_FLAGS 0xd53b4200U /* mrs, msr nzcv */
#define OP_SET_FLAGS 0xd51b4200U
#define OP_GET_TP    0xd53bd040U /* mrs tpidr_el0 */
#define OP_GET_TIME  0xd53be040U /* mrs cntvct_el0 */

/* Whole instructions. */
#define INSN_ISB     0xd5033fdfU
#define INSN_XPACLRI 0xd50320ffU /* takes the signature off x30; on old processors a nop */
#define INSN_RET     0xd65f03c0U
#define INSN_BRK     0xd42eac40U /* that of ubp_arch.swbp */

#endif
