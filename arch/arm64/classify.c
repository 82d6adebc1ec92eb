/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What may be displaced, where branches lead, and whether they are taken. */

#include "arch/arm64/classify.h"

#include <errno.h>
#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/text.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"

static void set_leave(struct displaced_insn *insn, uint32_t word)
{
	bool is_ret = (word & 0xffff0000) == 0xd65f0000;

	switch (insn->form) {
	case ARM64_LEAVE:
		/* A ret by another register is a jump in disguise. */
		insn->leave = is_ret && (word >> 11 & 1 || arm64_rn(word) == ARM64_X30)
				      ? LEAVE_RET
				      : LEAVE_JUMP_TO;
		return;
	case ARM64_B:
	case ARM64_B_IF:
		insn->leave = LEAVE_JUMP;
		return;
	default:
		return;
	}
}

int arm64_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
		       struct displaced_insn *ret_insn, struct ubp_err *err)
{
	struct arm64_decoded d;
	uint32_t word;

	if (len < ARM64_INSN)
		return ubp_fail(err, EILSEQ, "no known instruction: %zu bytes", len);
	if (vaddr % ARM64_INSN)
		return ubp_fail(err, EILSEQ,
				"no instruction stands at 0x%llx: all are at multiples of %d",
				(unsigned long long)vaddr, ARM64_INSN);
	word = insn_word(code);
	d = arm64_decode(word, vaddr);
	if (d.form == ARM64_UNKNOWN)
		return ubp_fail(err, EILSEQ, "no known instruction: %08x", word);

	memset(ret_insn, 0, sizeof(*ret_insn));
	ret_insn->vaddr = vaddr;
	ret_insn->len = ARM64_INSN;
	memcpy(ret_insn->bytes, code, ARM64_INSN);
	ret_insn->kind = INSN_BOOST;
	ret_insn->form = d.form;
	ret_insn->target = d.target;
	ret_insn->literal_len = d.literal_len;
	ret_insn->is_call =
		d.form == ARM64_BL || d.form == ARM64_BLR || d.form == ARM64_BLR_AUTH;
	/* A step outlives its tracer: nothing but another tracer ends it, so that one that was
	 * left would trap at each instruction from then on. */
	ret_insn->no_step = true;
	if (d.form == ARM64_REFUSED)
		return ubp_fail(err, EOPNOTSUPP, "can't displace '%s': %s",
				arm64_insn_text(ret_insn).s, d.why);
	set_leave(ret_insn, word);
	return 0;
}

void arm64_move_insn(struct displaced_insn *insn, uint64_t vaddr)
{
	insn->vaddr = vaddr;
	insn->target = arm64_decode(insn_word(insn->bytes), vaddr).target;
}

/* Condition @c with these flags. */
static bool holds(unsigned c, uint64_t pstate)
{
	bool n = pstate & ARM64_FLAG_N, z = pstate & ARM64_FLAG_Z;
	bool carry = pstate & ARM64_FLAG_C, v = pstate & ARM64_FLAG_V;
	const bool base[8] = { z, carry, n, v, carry && !z, n == v, n == v && !z, true };

	/* Of the two last ones, both mean always. */
	return base[c >> 1 & 7] != (c & 1 && c != 15);
}

bool arm64_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs)
{
	uint32_t word = insn_word(insn->bytes);
	unsigned n = arm64_rd(word), bit;
	uint64_t value;

	if (insn->form != ARM64_B_IF)
		return insn->form == ARM64_B || insn->leave == LEAVE_RET;
	if (word >> 24 == 0x54)
		return holds(word & 15, regs->r[ARM64_PSTATE]);
	value = n == 31 ? 0 : regs->r[n];
	if (word >> 25 & 1) { /* tbz, tbnz */
		bit = word >> 26 & 32;
		bit |= word >> 19 & 31;
		return (value >> bit & 1) == (word >> 24 & 1);
	}
	if (!(word >> 31))
		value = (uint32_t)value;
	return (value != 0) == (word >> 24 & 1);
}
