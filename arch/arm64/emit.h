/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Instructions (arch/arm64/opcode.h names them, arch/emit.h has what they go into). */

#ifndef UBP_ARCH_ARM64_EMIT_H
#define UBP_ARCH_ARM64_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arm64/opcode.h"
#include "arch/emit.h"

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
