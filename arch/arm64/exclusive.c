/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where no breakpoint may stand: between exclusive loads and stores, and behind prefixes. */

#include "arch/arm64/exclusive.h"

#include "arch/arm64/decode.h"
#include "arch/exclusive.h"
#include "arch/insn_word.h"

static const char why_between[] =
	"it stands between a load and a store that are exclusive: the store would fail for "
	"ever";
static const char why_behind_prefix[] = "it and the instruction before it are one";

static uint32_t insn_at(const uint8_t *code, size_t i)
{
	return insn_word(code + i * ARM64_INSN);
}

static bool is_clrex(uint32_t word)
{
	return (word & 0xfffff0ff) == 0xd503305f;
}

static enum exclusive_kind kind(const uint8_t *code, size_t i)
{
	uint32_t word = insn_at(code, i);

	if (arm64_is_load_exclusive(word))
		return EXCLUSIVE_LOAD;
	if (arm64_is_store_exclusive(word))
		return EXCLUSIVE_STORE;
	return is_clrex(word) ? EXCLUSIVE_CLEAR : EXCLUSIVE_NOT;
}

static size_t next(const uint8_t *code, size_t i, size_t *ret_next)
{
	/* Counted from the code's start: where that really is does not matter. */
	struct arm64_decoded d = arm64_decode(insn_at(code, i), i * ARM64_INSN);
	size_t n = 0;

	if (d.form == ARM64_LEAVE || d.form == ARM64_UNKNOWN)
		return 0;
	if (d.form == ARM64_B || d.form == ARM64_B_IF)
		ret_next[n++] = (size_t)(d.target / ARM64_INSN);
	if (d.form != ARM64_B)
		ret_next[n++] = i + 1;
	return n;
}

static const struct exclusive_insns insns = { .kind = kind, .next = next };

const char *arm64_refuse_at(const uint8_t *code, size_t len, size_t at)
{
	size_t n = len / ARM64_INSN, i = at / ARM64_INSN;

	if (at % ARM64_INSN || i >= n)
		return NULL;
	/* movprfx, and pacm, which a jump would part from what they are for. */
	if (i > 0 && arm64_is_prefix(insn_at(code, i - 1)))
		return why_behind_prefix;
	return exclusive_is_between(&insns, code, n, i) ? why_between : NULL;
}
