/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions (arch/emit.h has what they go into). */

#ifndef UBP_ARCH_ARM64_EMIT_H
#define UBP_ARCH_ARM64_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/emit.h"

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
#define OP_EOR   0x4a000000U
#define OP_ANDS  0x6a000000U
#define OP_BIC   0x0a200000U
#define OP_LSLV  0x1ac02000U
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

struct emit_mem {
	int base;
	int index;   /* or G_NONE; then .disp is 0 */
	bool scaled; /* .index counts units of the size that is loaded or stored */
	int64_t disp;
};

#define MEM(base_, disp_)                                                                      \
	((struct emit_mem){ .base = (base_), .index = G_NONE, .disp = (int64_t)(disp_) })
#define MEM_X(base_, index_)                                                                   \
	((struct emit_mem){ .base = (base_), .index = (index_), .scaled = true })
#define MEM_BYTES(base_, index_) ((struct emit_mem){ .base = (base_), .index = (index_) })

/* How the place of a label gets into an instruction. */
enum emit_fix { FIX_B, FIX_19, FIX_ADR };

emit_fix_fn a64_fix;

void a64_insn(struct emit *e, uint32_t insn);
/* Fill up to a multiple of @size with breakpoints; what is no whole instruction, with zeros. */
void a64_align(struct emit *e, size_t size);

void a64_b(struct emit *e, label_t label);
void a64_bcond(struct emit *e, enum cond cond, label_t label);
/* @x: OP_X or 0. */
void a64_cbz(struct emit *e, uint32_t x, int reg, label_t label);
void a64_cbnz(struct emit *e, uint32_t x, int reg, label_t label);
/* The address of @label. */
void a64_adr(struct emit *e, int reg, label_t label);
void a64_br(struct emit *e, int reg);

void a64_op(struct emit *e, uint32_t op, int rd, int rn, int rm);
/* Neither is the stack pointer. */
void a64_mov(struct emit *e, int rd, int rm);
/* rd = rn + @imm; 31 is the stack pointer. May clobber G_TMP where both are the same. */
void a64_add(struct emit *e, int rd, int rn, int64_t imm);
/* Compare with @imm; may clobber G_TMP. */
void a64_cmp(struct emit *e, uint32_t x, int rn, uint64_t imm);
/* rd = rn - @imm, with flags; may clobber G_TMP. */
void a64_subs(struct emit *e, int rd, int rn, uint64_t imm);
/* OP_AND, OP_ORR, OP_ANDS (rd may be G_ZR) with an immediate; may clobber G_TMP. */
void a64_logic(struct emit *e, uint32_t op, int rd, int rn, uint64_t imm);

void a64_lsl(struct emit *e, uint32_t x, int rd, int rn, unsigned by);
void a64_lsr(struct emit *e, uint32_t x, int rd, int rn, unsigned by);
void a64_asr(struct emit *e, uint32_t x, int rd, int rn, unsigned by);
/* The lowest @bits, with zeros above; 32 bits and less with their sign, to 32 bits. */
void a64_zero_extend(struct emit *e, int rd, int rn, unsigned bits);
void a64_sign_extend(struct emit *e, int rd, int rn, unsigned bits);
/* rd = cond ? rn : rm */
void a64_csel(struct emit *e, enum cond cond, int rd, int rn, int rm);

/* The shortest that sets the whole register to @imm. Changes no flag. */
void a64_imm(struct emit *e, int reg, uint64_t imm);
/* The address @vaddr: relative to the pc, if that is shorter. */
void a64_address(struct emit *e, int reg, uint64_t vaddr);

/* @mem, or what has the same place and fits into @op: by G_TMP then. */
struct emit_mem a64_reach(struct emit *e, uint32_t op, struct emit_mem mem);
/* One instruction if a64_reach() was here. */
void a64_ldst(struct emit *e, uint32_t op, int rt, struct emit_mem mem);
/* 64 bits each; @disp from -512 to 504. */
void a64_ldp(struct emit *e, int rt, int rt2, int base, int disp);
void a64_stp(struct emit *e, int rt, int rt2, int base, int disp);

/* 64 bits at [rn]. The pair: whatever comes between makes the store fail (*rs is not 0). */
void a64_ldxr(struct emit *e, int rt, int rn);
void a64_stxr(struct emit *e, int rs, int rt, int rn);
/* Store at [rn], after all that comes in front of it. @x: OP_X or 0. */
void a64_stlr(struct emit *e, uint32_t x, int rt, int rn);

#endif
