/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions (arch/emit.h has what they go into).
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

/* In the order of their encoding. */
enum gpr {
	G_AX,
	G_CX,
	G_DX,
	G_BX,
	G_SP,
	G_BP,
	G_SI,
	G_DI,
	G_R8,
	G_R9,
	G_R10,
	G_R11,
	G_R12,
	G_R13,
	G_R14,
	G_R15,
	G_NONE = -1,
	G_ABSOLUTE = -2, /* base of an address that is a number; 32 bits only */
};

/* Conditions of jcc, setcc, cmovcc. */
enum cond {
	COND_O,
	COND_NO,
	COND_B,
	COND_AE,
	COND_E,
	COND_NE,
	COND_BE,
	COND_A,
	COND_S,
	COND_NS,
	COND_P,
	COND_NP,
	COND_L,
	COND_GE,
	COND_LE,
	COND_G,
};

/* Added to an opcode. */
#define OP_W    0x00100 /* 64 bits */
#define OP_66   0x00200 /* 16 bits */
#define OP_0F   0x00400
#define OP_BYTE 0x00800 /* registers may be bytes */
#define OP_LOCK 0x01000

#define OP_STORE      0x89 /* reg to r/m */
#define OP_LOAD       0x8b
#define OP_STORE8     (0x88 | OP_BYTE)
#define OP_LEA        (0x8d | OP_W)
#define OP_MOVZX8     (0xb6 | OP_0F | OP_BYTE)
#define OP_MOVZX2     (0xb7 | OP_0F)
#define OP_MOVSX8     (0xbe | OP_0F | OP_BYTE)
#define OP_MOVSX2     (0xbf | OP_0F)
#define OP_ADD        0x03 /* r/m to reg */
#define OP_SUB        0x2b
#define OP_AND        0x23
#define OP_OR         0x0b
#define OP_XOR        0x33
#define OP_CMP        0x3b /* reg with r/m */
#define OP_TEST       0x85
#define OP_XADD       (0xc1 | OP_0F)
#define OP_SHRD       (0xac | OP_0F) /* by a number: bits from reg into r/m */
#define OP_CMPXCHG    (0xb1 | OP_0F)
#define OP_IMUL       (0xaf | OP_0F)
#define OP_BSF        (0xbc | OP_0F)
#define OP_BT         (0xa3 | OP_0F)
#define OP_MOVQ_FROM  (0x7e | OP_0F | OP_66 | OP_W) /* xmm (.reg) to r/m */
#define OP_CMOV(cond) (0x40 | (cond) | OP_0F)

/* Arithmetic with an immediate: digits of group 1 and of the shifts. */
enum alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };
enum shift { SHIFT_L = 4, SHIFT_R = 5, SHIFT_SIGNED = 7 };

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
/* The same to memory, 32 bits only. */
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
