/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where no breakpoint may stand: between a reservation and its store, and in instructions. */

#include "arch/ppc64el/exclusive.h"

#include "arch/exclusive.h"
#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"

static const char why_between[] =
	"it stands between a load that makes a reservation and the store that needs it: the "
	"store would fail for ever";
static const char why_suffix[] = "it is the second word of an instruction";

static uint32_t insn_at(const uint8_t *code, size_t i)
{
	return insn_word(code + i * PPC64EL_INSN);
}

static enum exclusive_kind kind(const uint8_t *code, size_t i)
{
	uint32_t word = insn_at(code, i);

	if (ppc64el_is_load_reserve(word))
		return EXCLUSIVE_LOAD;
	return ppc64el_is_store_conditional(word) ? EXCLUSIVE_STORE : EXCLUSIVE_NOT;
}

static size_t next(const uint8_t *code, size_t i, size_t *ret_next)
{
	uint32_t word = insn_at(code, i);
	/* Counted from the code's start: where that really is does not matter. */
	struct ppc64el_decoded d = ppc64el_decode(word, 0, i * PPC64EL_INSN);
	size_t n = 0;

	if (ppc64el_is_prefix(word)) {
		ret_next[n++] = i + 2;
		return n;
	}
	if (d.form == PPC64EL_UNKNOWN ||
	    (d.form == PPC64EL_LEAVE && !ppc64el_is_conditional(word)))
		return 0;
	if ((d.form == PPC64EL_B || d.form == PPC64EL_B_IF) && !(word & PPC64EL_ABSOLUTE))
		ret_next[n++] = (size_t)(d.target / PPC64EL_INSN);
	if (d.form != PPC64EL_B)
		ret_next[n++] = i + 1;
	return n;
}

static const struct exclusive_insns insns = { .kind = kind, .next = next };

/* Of words in a row that look like prefixes, every second is one. */
static bool is_suffix(const uint8_t *code, size_t at)
{
	size_t n = 0;

	while (n < at && ppc64el_is_prefix(insn_at(code, at - 1 - n)))
		n++;
	return n % 2;
}

const char *ppc64el_refuse_at(const uint8_t *code, size_t len, size_t at)
{
	size_t n = len / PPC64EL_INSN, i = at / PPC64EL_INSN;

	if (at % PPC64EL_INSN || i >= n)
		return NULL;
	if (is_suffix(code, i))
		return why_suffix;
	return exclusive_is_between(&insns, code, n, i) ? why_between : NULL;
}
