/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What words may be, without knowing which of them are instructions. */

#include "arch/arm64/refs.h"

#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/insn_word.h"

/* Of adrp to the add that completes the address. */
#define PAIR_MAX 8

static uint32_t word_at(const uint8_t *code, size_t at)
{
	return insn_word(code + at);
}

/* The address that the adrp at @at begins: with what the next add adds to its register. */
static uint64_t complete(const uint8_t *code, size_t len, size_t at, uint64_t page)
{
	unsigned reg = arm64_rd(word_at(code, at));

	for (size_t i = 1; i <= PAIR_MAX && len - at >= (i + 1) * ARM64_INSN; i++) {
		uint32_t word = word_at(code, at + i * ARM64_INSN);

		/* add x, reg, #imm12 */
		if ((word & 0xffc00000) == 0x91000000 && arm64_rn(word) == reg)
			return page + (word >> 10 & 0xfff);
	}
	return page;
}

void arm64_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		     void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind),
		     void *ctx)
{
	/* There are instructions at multiples of 4 only. */
	size_t at = (size_t)(-vaddr % ARM64_INSN);

	for (; at <= len && len - at >= ARM64_INSN; at += ARM64_INSN) {
		uint32_t word = word_at(code, at);
		struct arm64_decoded d = arm64_decode(word, vaddr + at);

		if (d.form == ARM64_B || d.form == ARM64_B_IF || d.form == ARM64_BL) {
			if (kinds & REF_BRANCH)
				each(ctx, vaddr + at, d.target, REF_BRANCH);
		} else if (d.form == ARM64_ADDRESS && kinds & REF_ADDRESS) {
			bool is_page = word >> 31;

			each(ctx, vaddr + at,
			     is_page ? complete(code, len, at, d.target) : d.target,
			     REF_ADDRESS);
		}
	}
}

size_t arm64_fill_len(const uint8_t *code, size_t len)
{
	size_t at = 0;

	for (; len - at >= ARM64_INSN; at += ARM64_INSN) {
		uint32_t word = word_at(code, at);

		if (word != 0 && word != ARM64_NOP && (word & ARM64_BRK_MASK) != ARM64_BRK)
			break;
	}
	return at;
}

/* One instruction of Go's check: what it is but for its immediates; and if it may lack. */
struct piece {
	uint32_t mask, value;
	bool is_optional;
};

/* Returns the length, or 0 where @pieces (up to one without a mask) don't match. */
static size_t match(const uint8_t *code, size_t len, const struct piece *pieces)
{
	size_t at = 0;

	for (; pieces->mask; pieces++) {
		if (len - at >= ARM64_INSN &&
		    (word_at(code, at) & pieces->mask) == pieces->value)
			at += ARM64_INSN;
		else if (!pieces->is_optional)
			return 0;
	}
	return at;
}

size_t arm64_go_check_len(const uint8_t *code, size_t len)
{
	static const struct piece checks[][9] = {
		{ { 0xffffffff, 0xf9400b90, false }, /* ldr x16, [x28, #16] */
		  { 0xffffffff, 0xeb3063ff, false }, /* cmp sp, x16 */
		  { 0xff00001f, 0x54000009, false }, /* b.ls */
		  { 0, 0, false } },
		{ { 0xffffffff, 0xf9400b90, false },
		  { 0xff8003ff, 0xd10003f1, false }, /* sub x17, sp, #frame */
		  { 0xff8003ff, 0xd1000231, true },  /* sub x17, x17, #frame */
		  { 0xffffffff, 0xeb10023f, false }, /* cmp x17, x16 */
		  { 0xff00001f, 0x54000009, false },
		  { 0, 0, false } },
		{ { 0xffffffff, 0xf9400b90, false },
		  { 0xff80001f, 0xd280001b, true },  /* mov x27, #frame */
		  { 0xff80001f, 0xb200001b, true },  /* as a logical one */
		  { 0xff80001f, 0xf280001b, true },  /* movk */
		  { 0xffffffff, 0xeb3b63f1, false }, /* subs x17, sp, x27 */
		  { 0xff00001f, 0x54000003, false }, /* b.lo */
		  { 0xffffffff, 0xeb10023f, false },
		  { 0xff00001f, 0x54000009, false },
		  { 0, 0, false } },
		/* Before Go 1.18 */
		{ { 0xffffffff, 0xf9400b81, false }, /* ldr x1, [x28, #16] */
		  { 0xffffffff, 0x910003e2, false }, /* mov x2, sp */
		  { 0xffffffff, 0xeb01005f, false }, /* cmp x2, x1 */
		  { 0xff00001f, 0x54000009, false },
		  { 0, 0, false } },
		{ { 0xffffffff, 0xf9400b81, false },
		  { 0xff8003ff, 0xd10003e2, false }, /* sub x2, sp, #frame */
		  { 0xff8003ff, 0xd1000042, true },  /* sub x2, x2, #frame */
		  { 0xffffffff, 0xeb01005f, false }, /* cmp x2, x1 */
		  { 0xff00001f, 0x54000009, false },
		  { 0, 0, false } },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		size_t n = match(code, len, checks[i]);

		if (n)
			return n;
	}
	return 0;
}
