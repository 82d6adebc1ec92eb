/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The parts of instructions. "bits" tells the mode that the code runs in, 32 or 64. */

#ifndef UBP_ARCH_X86_SPLIT_H
#define UBP_ARCH_X86_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_INSN_LONGEST 15

enum prefix_bit {
	PREFIX_OPSIZE = 1 << 0,
	PREFIX_ADDRSIZE = 1 << 1,
	PREFIX_LOCK = 1 << 2,
	PREFIX_REPNE = 1 << 3,
	PREFIX_REP = 1 << 4,
};

enum x86_map {
	MAP_ONE,  /* one-byte opcodes */
	MAP_0F,   /* 0f xx */
	MAP_0F38, /* 0f 38 xx */
	MAP_0F3A, /* 0f 3a xx */
	MAP_VEX,  /* nothing in these three needs more than a look at the modrm byte */
	MAP_EVEX,
	MAP_XOP,
};

/* The parts of an instruction that don't depend on what it does. */
struct x86_parts {
	unsigned prefixes; /* enum prefix_bit */
	uint8_t segment;   /* 0x64, 0x65, or 0: the others mean nothing */
	uint8_t rex;       /* 0: none, or one that doesn't count */
	enum x86_map map;
	uint8_t vector_map; /* VEX, EVEX, XOP: the map of their own */
	uint8_t opcode;
	uint8_t opcode_at;
	bool has_modrm;
	uint8_t modrm;
	uint8_t modrm_at;
	bool rip_relative;
	uint8_t disp_at; /* if rip_relative */
	uint8_t end;     /* behind opcode, modrm, sib, displacement: the immediate, if any */
};

/* Split up @len bytes. Returns whether that many bytes sufficed. */
bool x86_split(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *ret_parts);

static inline unsigned x86_modrm_mod(const struct x86_parts *p)
{
	return p->modrm >> 6;
}

static inline unsigned x86_modrm_reg(const struct x86_parts *p)
{
	return p->modrm >> 3 & 7;
}

#endif
