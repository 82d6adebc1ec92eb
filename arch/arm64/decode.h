/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the bits of an instruction say. */

#ifndef UBP_ARCH_ARM64_DECODE_H
#define UBP_ARCH_ARM64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARM64_INSN     4
#define ARM64_NOP      0xd503201f
#define ARM64_BRK      0xd4200000 /* | immediate << 5 */
#define ARM64_BRK_MASK 0xffe0001f

/* brk #0x7562: a number that neither the kernel nor compilers nor debuggers use. */
#define ARM64_SWBP (ARM64_BRK | 0x7562 << 5)

#define ARM64_SVC    0xd4000001 /* svc #0 */
#define ARM64_INSN_B 0x14000000 /* | words */
#define ARM64_RET    0xd65f03c0 /* by x30 */

/* How far b and bl lead, either way. */
#define ARM64_B_REACH 0x8000000

/* How the slot of an instruction is built: displaced_insn.form. */
enum arm64_form {
	ARM64_COPY,      /* the instruction, then a jump back */
	ARM64_NOTHING,   /* nop; what can only be seen by how long it takes */
	ARM64_LEAVE,     /* the instruction alone: br, ret */
	ARM64_B,         /* b target */
	ARM64_B_IF,      /* b.cond, bc.cond, cbz, cbnz, tbz, tbnz */
	ARM64_BL,        /* bl target */
	ARM64_BLR,       /* blr */
	ARM64_BLR_AUTH,  /* blraa and its kin */
	ARM64_ADDRESS,   /* adr, adrp */
	ARM64_LOAD,      /* ldr x0, target */
	ARM64_LOAD_SIMD, /* ldr q0, target */
	ARM64_SYSCALL,
	ARM64_REFUSED, /* arm64_decoded.why tells */
	ARM64_UNKNOWN, /* is no instruction, or could be anything */
};

/* What the bits say. */
struct arm64_decoded {
	enum arm64_form form;
	const char *why; /* ARM64_REFUSED */
	uint64_t target;
	uint8_t literal_len; /* bytes that are loaded from there */
};

/* One instruction, which stands at @vaddr. */
struct arm64_decoded arm64_decode(uint32_t word, uint64_t vaddr);

/* Loads and stores that work with the monitor. */
bool arm64_is_load_exclusive(uint32_t word);
bool arm64_is_store_exclusive(uint32_t word);

/* movprfx, pacm: part of the instruction behind them. */
bool arm64_is_prefix(uint32_t word);

/* The registers that most encodings have in the same place. */
static inline unsigned arm64_rd(uint32_t word)
{
	return word & 31;
}

static inline unsigned arm64_rn(uint32_t word)
{
	return word >> 5 & 31;
}
/* Bytes of the instruction; 0: it is none. */
int arm64_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);

#endif
