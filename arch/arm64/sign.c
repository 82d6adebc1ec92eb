/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where the return address can be replaced: as long as it is in its register as it came. Once it
 * is signed no other is accepted, once it is saved none is looked at, and then the register may hold
 * anything. What the bits of the address say is no answer: a signature may be all zeros.
 */

#include "arch/arm64/sign.h"

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/insn_word.h"

static const char why_signed[] =
	"its return address is signed there: another one would not be accepted";
static const char why_late[] = "its return address may be saved there already";

/* pacia and its kin, of x30. */
static bool is_signing(uint32_t word)
{
	switch (word) {
	case 0xd503231f: /* paciaz */
	case 0xd503233f: /* paciasp */
	case 0xd503235f: /* pacibz */
	case 0xd503237f: /* pacibsp */
	case 0xdac123fe: /* paciza x30 */
	case 0xdac127fe: /* pacizb x30 */
	case 0xdac183fe: /* pacnbiasppc */
	case 0xdac187fe: /* pacnbibsppc */
	case 0xdac1a3fe: /* paciasppc */
	case 0xdac1a7fe: /* pacibsppc */
		return true;
	default:
		return (word & 0xfffff81f) == 0xdac1001e; /* pacia, pacib x30, x0 */
	}
}

/* An instruction that leads to the next one, and leaves x30 and sp alone. */
static bool is_harmless(uint32_t word)
{
	const unsigned rd = arm64_rd(word), rn = arm64_rn(word), rt2 = word >> 10 & 31;
	enum arm64_form form = arm64_decode(word, 0).form;

	if ((word & 0xfffff01f) == 0xd503201f) /* hints: bti, nop */
		return true;
	if (form != ARM64_COPY && form != ARM64_NOTHING && form != ARM64_ADDRESS &&
	    form != ARM64_LOAD && form != ARM64_LOAD_SIMD)
		return false;
	if (rd == ARM64_X30 || rd == 31)
		return false;
	/* Loads and stores: of pairs, and with another address than the stack's. */
	return (word >> 25 & 5) != 4 || (rn != 31 && rt2 != ARM64_X30);
}

const char *arm64_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at)
{
	(void)len;
	/* A function is not known to begin where another one has signed. */
	if (start >= ARM64_INSN && is_signing(insn_word(code + start - ARM64_INSN)))
		return why_signed;
	for (size_t i = start; i + ARM64_INSN <= at; i += ARM64_INSN) {
		uint32_t word = insn_word(code + i);

		if (is_signing(word))
			return why_signed;
		if (!is_harmless(word))
			return why_late;
	}
	return NULL;
}
