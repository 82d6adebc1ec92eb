/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What words may be, without knowing which of them are instructions. Addresses that are made
 * from r2 are not found: what that holds, the code does not tell.
 */

#include "arch/ppc64el/refs.h"

#include <string.h>

#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"

/* Of addpcis to the addi that completes the address. */
#define PAIR_MAX 8

static uint32_t word_at(const uint8_t *code, size_t at)
{
	return insn_word(code + at);
}

/* The address that the addpcis at @at begins: with what the next addi adds to its register. */
static uint64_t complete(const uint8_t *code, size_t len, size_t at, uint64_t high)
{
	unsigned reg = ppc64el_rt(word_at(code, at));

	for (size_t i = 1; i <= PAIR_MAX && len - at >= (i + 1) * PPC64EL_INSN; i++) {
		uint32_t word = word_at(code, at + i * PPC64EL_INSN);

		if (reg != 0 && word >> 26 == 14 && (word >> 16 & 31) == reg)
			return high + (uint64_t)(int16_t)(word & 0xffff);
	}
	return high;
}

void ppc64el_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		       void (*each)(void *ctx, uint64_t at, uint64_t target,
				    enum code_ref kind),
		       void *ctx)
{
	/* There are instructions at multiples of 4 only. */
	size_t at = (size_t)(-vaddr % PPC64EL_INSN);

	for (; at <= len && len - at >= PPC64EL_INSN; at += PPC64EL_INSN) {
		uint32_t word = word_at(code, at);
		bool has_suffix = len - at >= PPC64EL_PREFIXED;
		struct ppc64el_decoded d = ppc64el_decode(
			word, has_suffix ? word_at(code, at + 4) : 0, vaddr + at);

		switch (d.form) {
		case PPC64EL_B:
		case PPC64EL_BL:
		case PPC64EL_B_IF:
		case PPC64EL_BL_IF:
			if (kinds & REF_BRANCH)
				each(ctx, vaddr + at, d.target, REF_BRANCH);
			break;
		case PPC64EL_ADDRESS:
			if (kinds & REF_ADDRESS)
				each(ctx, vaddr + at, complete(code, len, at, d.target),
				     REF_ADDRESS);
			break;
		case PPC64EL_RELATIVE:
			if (kinds & REF_ADDRESS && has_suffix)
				each(ctx, vaddr + at, d.target, REF_ADDRESS);
			break;
		default:
			break;
		}
	}
}

size_t ppc64el_fill_len(const uint8_t *code, size_t len)
{
	size_t at = 0;

	for (; len - at >= PPC64EL_INSN; at += PPC64EL_INSN) {
		uint32_t word = word_at(code, at);

		if (word != 0 && word != PPC64EL_NOP && word != PPC64EL_SWBP)
			break;
	}
	return at;
}

/* The limit is compared with the stack pointer, or with what that will be. */
size_t ppc64el_go_check_len(const uint8_t *code, size_t len)
{
	size_t at = PPC64EL_INSN;
	uint32_t compare = 0x7c360840; /* cmpld r22, r1 */

	if (len < 4 * PPC64EL_INSN || word_at(code, 0) != 0xeade0010) /* ld r22, 16(r30) */
		return 0;
	if ((word_at(code, at) & 0xffff8000) == 0x3ae18000) { /* addi r23, r1, -frame */
		at += PPC64EL_INSN;
		compare = 0x7c36b840; /* cmpld r22, r23 */
	}
	/* blt, over the call of what makes the stack larger */
	if (word_at(code, at) != compare ||
	    (word_at(code, at + PPC64EL_INSN) & 0xffff0003) != 0x41800000)
		return 0;
	return at + 2u * PPC64EL_INSN;
}
