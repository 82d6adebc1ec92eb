/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What may be displaced, where branches lead, and whether they are taken. */

#include "arch/ppc64el/classify.h"

#include <errno.h>
#include <string.h>

#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"
#include "arch/ppc64el/text.h"
#include "engine/base/err.h"

static void set_leave(struct displaced_insn *insn, uint32_t word)
{
	bool is_bclr = word >> 26 == 19 && (word >> 1 & 0x3ff) == 16;
	unsigned hint = word >> 11 & 3;

	switch (insn->form) {
	case PPC64EL_LEAVE:
		/* BH says which blr is a jump in disguise. */
		insn->leave = is_bclr && hint == 0 ? LEAVE_RET : LEAVE_JUMP_TO;
		return;
	case PPC64EL_B:
	case PPC64EL_B_IF:
		insn->leave = LEAVE_JUMP;
		return;
	default:
		return;
	}
}

/* bcl to the next instruction is how code learns where it is. */
static bool is_call(const struct displaced_insn *insn)
{
	return insn->form == PPC64EL_CALL ||
	       ((insn->form == PPC64EL_BL || insn->form == PPC64EL_BL_IF) &&
		insn->target != insn->vaddr + PPC64EL_INSN);
}

int ppc64el_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
			 struct displaced_insn *ret_insn, struct ubp_err *err)
{
	int n = ppc64el_insn_len(code, len, vaddr);
	struct ppc64el_decoded d;
	uint32_t word, suffix;

	if (n == 0)
		return ubp_fail(err, EILSEQ, "no known instruction: %zu bytes", len);
	if (vaddr % PPC64EL_INSN)
		return ubp_fail(err, EILSEQ,
				"no instruction stands at 0x%llx: all are at multiples of %d",
				(unsigned long long)vaddr, PPC64EL_INSN);
	word = insn_word(code);
	suffix = n == PPC64EL_PREFIXED ? insn_word(code + PPC64EL_INSN) : 0;
	d = ppc64el_decode(word, suffix, vaddr);
	if (d.form == PPC64EL_UNKNOWN)
		return n == PPC64EL_PREFIXED
			       ? ubp_fail(err, EILSEQ, "no known instruction: %08x %08x", word,
					  suffix)
			       : ubp_fail(err, EILSEQ, "no known instruction: %08x", word);

	memset(ret_insn, 0, sizeof(*ret_insn));
	ret_insn->vaddr = vaddr;
	ret_insn->len = (uint8_t)n;
	memcpy(ret_insn->bytes, code, (size_t)n);
	ret_insn->kind = INSN_BOOST;
	ret_insn->form = d.form;
	ret_insn->target = d.target;
	ret_insn->is_call = is_call(ret_insn);
	ret_insn->pc_relative = d.form == PPC64EL_RELATIVE;
	ret_insn->no_step = d.form != PPC64EL_COPY;
	if (d.form == PPC64EL_REFUSED)
		return ubp_fail(err, EOPNOTSUPP, "can't displace '%s': %s",
				ppc64el_insn_text(ret_insn).s, d.why);
	set_leave(ret_insn, word);
	return 0;
}

/* To no place where two words would lie in two blocks: there they are no instruction. */
void ppc64el_move_insn(struct displaced_insn *insn, uint64_t vaddr)
{
	insn->vaddr = vaddr;
	insn->target = ppc64el_decode(insn_word(insn->bytes),
				      insn_word(insn->bytes + PPC64EL_INSN), vaddr)
			       .target;
}

/* Bits of BO, from the left: no condition, which, no counter, which. */
bool ppc64el_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs)
{
	uint32_t word = insn_word(insn->bytes);
	unsigned bo = ppc64el_rt(word), bi = word >> 16 & 31;
	uint64_t count = regs->r[PPC64EL_CTR] - 1;
	bool bit = regs->r[PPC64EL_CCR] >> (31 - bi) & 1;

	switch (insn->form) {
	case PPC64EL_B:
	case PPC64EL_BL:
		return true;
	case PPC64EL_B_IF:
	case PPC64EL_BL_IF:
	case PPC64EL_LEAVE:
	case PPC64EL_CALL:
		return (bo & 4 || (count != 0) != (bo >> 1 & 1)) &&
		       (bo & 16 || bit == (bo >> 3 & 1));
	default:
		return false;
	}
}
