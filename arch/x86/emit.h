/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions (arch/x86/opcode.h names them, arch/emit.h has what they go into).
 *
 * For 64 bits or for 32: there OP_W means nothing, the registers are the first eight, only the
 * first four have bytes, and memory is addressed by what the addresses are, not by how far
 * away.
 */

#ifndef UBP_ARCH_X86_EMIT_H
#define UBP_ARCH_X86_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/emit.h"
#include "arch/x86/opcode.h"

struct emit_mem {
	int base;      /* enum gpr, or G_NONE: at .label */
	int index;     /* enum gpr or G_NONE */
	uint8_t scale; /* log2 */
	int32_t disp;
	label_t label;
};

#define MEM(base_, disp_)                                                                      \
	((struct emit_mem){ .base = (base_), .index = G_NONE, .disp = (int32_t)(disp_) })
#define MEM_ABSOLUTE(vaddr_) MEM(G_ABSOLUTE, vaddr_)
#define MEM_X(base_, index_, scale_, disp_)                                                    \
	((struct emit_mem){ .base = (base_),                                                   \
			    .index = (index_),                                                 \
			    .scale = (scale_),                                                 \
			    .disp = (int32_t)(disp_) })
#define MEM_LABEL(label_)                                                                      \
	((struct emit_mem){ .base = G_NONE, .index = G_NONE, .label = (label_) })

/* How the place of a label gets into the code: 32 bits each. */
enum emit_fix { FIX_DISP, FIX_ADDRESS };

emit_fix_fn x86_fix;

void emit_jmp(struct emit *e, label_t label);
void emit_call(struct emit *e, label_t label);
void emit_jcc(struct emit *e, enum cond cond, label_t label);

/* The instruction @op with two registers, or a register and memory. */
void emit_rr(struct emit *e, unsigned op, int reg, int rm);
void emit_rm(struct emit *e, unsigned op, int reg, struct emit_mem mem);

/* 64 bits with OP_W in @w, else 32. */
void emit_alu(struct emit *e, unsigned w, enum alu alu, int reg, int32_t imm);
void emit_shift(struct emit *e, unsigned w, enum shift shift, int reg, uint8_t by);
void emit_test(struct emit *e, unsigned w, int reg, int32_t imm);
/* The shortest that sets the whole register to @imm. Changes no flag. */
void emit_imm(struct emit *e, int reg, uint64_t imm);
/* The address @vaddr: relative to the pc, if that reaches. */
void emit_address(struct emit *e, int reg, uint64_t vaddr);
/* The address of a label. */
void emit_label_address(struct emit *e, int reg, label_t label);
/* Store the address of a label; 32 bits only. */
void emit_store_label(struct emit *e, struct emit_mem mem, label_t label);
/* Store 32 bits (with OP_W: extended to 64). */
void emit_store_imm(struct emit *e, unsigned w, struct emit_mem mem, uint32_t imm);
/* alu $imm32,mem; alu is one that a 32-bit immediate follows. */
void emit_alu_mem(struct emit *e, unsigned w, enum alu alu, struct emit_mem mem, int32_t imm);

static inline bool emit_fits(uint64_t imm)
{
	return imm == (uint64_t)(int64_t)(int32_t)imm;
}

#endif
