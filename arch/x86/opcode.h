/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of registers, conditions and opcodes, for what writes instructions (arch/x86/emit.h). */

#ifndef UBP_ARCH_X86_OPCODE_H
#define UBP_ARCH_X86_OPCODE_H

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
	G_ABSOLUTE =
		-2, /* base of an address that is a number; in 64 bits the distance to one */
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
#define OP_ADD_TO     0x01 /* reg to r/m */
#define OP_ADC_TO     0x11
#define OP_SBB        0x1b           /* r/m to reg */
#define OP_SHLD       (0xa4 | OP_0F) /* by a number: bits from reg into r/m */
#define OP_SHRD       (0xac | OP_0F)
#define OP_XADD       (0xc1 | OP_0F)
#define OP_CMPXCHG    (0xb1 | OP_0F)
#define OP_CMPXCHG8B  (0xc7 | OP_0F) /* digit 1 */
#define OP_IMUL       (0xaf | OP_0F)
#define OP_BSF        (0xbc | OP_0F)
#define OP_BT         (0xa3 | OP_0F)
#define OP_MOVQ_FROM  (0x7e | OP_0F | OP_66 | OP_W) /* xmm (.reg) to r/m */
#define OP_MOVQ_TO    (0xd6 | OP_0F | OP_66)        /* xmm (.reg) to memory */
#define OP_CMOV(cond) (0x40 | (cond) | OP_0F)

#define INT3 0xcc
#define RET  0xc3

/* Arithmetic with an immediate: digits of group 1 and of the shifts. */
enum alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };
enum shift { SHIFT_L = 4, SHIFT_R = 5, SHIFT_SIGNED = 7 };

#endif
