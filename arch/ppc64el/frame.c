/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What unwinding a stack needs to know: DWARF's numbers of registers, frames of signals. */

#include "arch/ppc64el/frame.h"

#include <string.h>

#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"

/* None that can be read here: floats, and what has no number. */
#define NO   PPC64EL_N_REGS
#define NO_4 NO, NO, NO, NO
#define NO_8 NO_4, NO_4

/* 64-bit ELF V2 ABI, 2.4; but 64, which the ABI gives to nothing, for the pc. */
const uint8_t ppc64el_dwarf_regs[PPC64EL_N_DWARF_REGS] = {
	0,  1,  2,  3,  4,  5,  6,    7,    8,    9,    10,          11,         12,
	13, 14, 15, 16, 17, 18, 19,   20,   21,   22,   23,          24,         25,
	26, 27, 28, 29, 30, 31, NO_8, NO_8, NO_8, NO_8, PPC64EL_NIP, PPC64EL_LR,
};

/*
 * A handler returns with its own frame, of 128 bytes, still on the stack, to what takes that
 * away. Behind it is a ucontext: flags, link, stack, mask and room for more in 168 bytes,
 * sigcontext's first 64; then the registers, as the kernel has them.
 */
#define FRAME     128
#define REGS_AT   (168 + 64)
#define REG_AT(n) (REGS_AT + 8 * (n))
#define ALL(from)                                                                              \
	{                                                                                      \
		(from) + REG_AT(0), (from) + REG_AT(1), (from) + REG_AT(2),                    \
			(from) + REG_AT(3), (from) + REG_AT(4), (from) + REG_AT(5),            \
			(from) + REG_AT(6), (from) + REG_AT(7), (from) + REG_AT(8),            \
			(from) + REG_AT(9), (from) + REG_AT(10), (from) + REG_AT(11),          \
			(from) + REG_AT(12), (from) + REG_AT(13), (from) + REG_AT(14),         \
			(from) + REG_AT(15), (from) + REG_AT(16), (from) + REG_AT(17),         \
			(from) + REG_AT(18), (from) + REG_AT(19), (from) + REG_AT(20),         \
			(from) + REG_AT(21), (from) + REG_AT(22), (from) + REG_AT(23),         \
			(from) + REG_AT(24), (from) + REG_AT(25), (from) + REG_AT(26),         \
			(from) + REG_AT(27), (from) + REG_AT(28), (from) + REG_AT(29),         \
			(from) + REG_AT(30),                                                   \
			(from) + REG_AT(31), [64] = (from) + REG_AT(PPC64EL_NIP),              \
					     [65] = (from) + REG_AT(PPC64EL_LR),               \
	}

const uint16_t ppc64el_sigframe_at[PPC64EL_N_DWARF_REGS] = ALL(FRAME);
/* The frame has been taken away. */
static const uint16_t below[PPC64EL_N_DWARF_REGS] = ALL(0);

static bool begins(const uint8_t *code, size_t len, const uint8_t *with, size_t n)
{
	return len >= n && memcmp(code, with, n) == 0;
}

/* addi r1, r1, 128; li r0, 172; sc */
static const uint8_t call[] = { 0x80, 0x00, 0x21, 0x38, 0xac, 0x00,
				0x00, 0x38, 0x02, 0x00, 0x00, 0x44 };

bool ppc64el_is_sigreturn(const uint8_t *code, size_t len)
{
	return begins(code, len, call, sizeof(call)) ||
	       begins(code, len, call + PPC64EL_INSN, sizeof(call) - PPC64EL_INSN);
}

const uint16_t *ppc64el_sigframe_of(const uint8_t *code, size_t len)
{
	return begins(code, len, call, sizeof(call)) ? ppc64el_sigframe_at : below;
}

/*
 * Functions that keep a TOC pointer have two entries: one for calls from elsewhere, which
 * makes it, and behind that the one for calls from the same file. Bits 5 to 7 tell how far:
 * 0 and 1: there is but one; 7 is reserved.
 */
uint64_t ppc64el_entry_off(uint8_t st_other)
{
	unsigned bits = st_other >> 5;

	return bits < 2 || bits == 7 ? 0 : UINT64_C(1) << bits;
}
