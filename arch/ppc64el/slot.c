/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Code for slots. Branches reach 32 MB, so a slot must be that near.
 *
 * The link register can be set from a general register only, and none is free for an
 * imitated call: r0 is kept in the stack meanwhile, between what the ABI lets programs have
 * below the stack pointer (288 bytes) and where the kernel puts frames of signals (512).
 *
 * scv leaves an address in the slot in the link register, where in the program it leaves
 * its own: what system calls leave there is nobody's.
 */

#include "arch/ppc64el/slot.h"

#include <errno.h>
#include <string.h>

#include "arch/insn_word.h"
#include "arch/ppc64el/classify.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"
#include "arch/ppc64el/text.h"
#include "arch/slot_words.h"
#include "engine/base/err.h"

#define KEEP_R0   0xf801fe10 /* std r0, -496(r1) */
#define GET_R0    0xe801fe10 /* ld r0, -496(r1) */
#define MTLR_R0   0x7c0803a6
#define LIS       0x3c000000
#define ORI       0x60000000
#define ORIS      0x64000000
#define SLDI_32   0x780007c6
#define LINKED_AT 32 /* behind what put_link() puts */

/* @reg = @value, and nothing else. */
static void put_number(struct slot_writer *w, unsigned reg, uint64_t value)
{
	uint32_t itself = reg << 21 | reg << 16;

	slot_words_put(w, LIS | reg << 21 | (value >> 48 & 0xffff));
	slot_words_put(w, ORI | itself | (value >> 32 & 0xffff));
	slot_words_put(w, SLDI_32 | itself);
	slot_words_put(w, ORIS | itself | (value >> 16 & 0xffff));
	slot_words_put(w, ORI | itself | (value & 0xffff));
}

bool ppc64el_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word)
{
	uint64_t distance = to - from;

	*ret_word = PPC64EL_INSN_B | (distance & 0x03fffffc);
	return distance + PPC64EL_B_REACH < UINT64_C(2) * PPC64EL_B_REACH &&
	       distance % PPC64EL_INSN == 0;
}

static void put_jump_taken(struct slot_writer *w)
{
	uint64_t target = w->insn->target;

	w->out->taken_at = w->out->len;
	/* What is absolute is in reach from everywhere. */
	if (insn_word(w->insn->bytes) & PPC64EL_ABSOLUTE)
		slot_words_put(w, PPC64EL_INSN_B | PPC64EL_ABSOLUTE | (target & 0x03fffffc));
	else
		slot_words_jump(w, target);
}

/* The link register as the call leaves it. */
static void put_link(struct slot_writer *w)
{
	slot_words_put(w, KEEP_R0);
	put_number(w, 0, w->insn->vaddr + PPC64EL_INSN);
	slot_words_put(w, MTLR_R0);
	slot_words_put(w, GET_R0);
}

/* The branch over the jump back to the jump to the target. */
static void put_branch(struct slot_writer *w, uint32_t word)
{
	slot_words_put(w, (word & 0xffff0000) | 2 * PPC64EL_INSN);
	slot_words_jump_back(w);
	put_jump_taken(w);
}

/* By a register. */
static void put_leave(struct slot_writer *w, uint32_t word)
{
	slot_words_put(w, word & ~(uint32_t)PPC64EL_LINK);
	if (ppc64el_is_conditional(word))
		slot_words_jump_back(w);
}

static void put_copy(struct slot_writer *w, uint32_t words[2])
{
	if (w->insn->len == PPC64EL_PREFIXED &&
	    w->vaddr % PPC64EL_BLOCK == PPC64EL_BLOCK - PPC64EL_INSN)
		w->rc = ubp_fail(w->err, ERANGE, "'%s': its two words can't stand at 0x%llx",
				 ppc64el_insn_text(w->insn).s, (unsigned long long)w->vaddr);
	slot_words_put(w, words[0]);
	if (w->insn->len == PPC64EL_PREFIXED)
		slot_words_put(w, words[1]);
	slot_words_jump_back(w);
}

static void put_relative(struct slot_writer *w, uint32_t words[2])
{
	if (!ppc64el_set_distance(words, (int64_t)(w->insn->target - w->vaddr)))
		slot_words_too_far(w, w->insn->target);
	put_copy(w, words);
}

int ppc64el_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		       struct slot_code *ret_code, struct ubp_err *err)
{
	struct slot_writer w = { .vaddr = slot_vaddr,
				 .out = ret_code,
				 .insn = insn,
				 .branch = ppc64el_encode_b,
				 .text = ppc64el_insn_text,
				 .err = err };
	uint32_t words[2] = { insn_word(insn->bytes), insn_word(insn->bytes + 4) };

	slot_words_begin(&w);
	switch ((enum ppc64el_form)insn->form) {
	case PPC64EL_COPY:
		put_copy(&w, words);
		return w.rc;
	case PPC64EL_RELATIVE:
		put_relative(&w, words);
		return w.rc;
	case PPC64EL_NOTHING:
		slot_words_jump_back(&w);
		return w.rc;
	case PPC64EL_B:
		put_jump_taken(&w);
		return w.rc;
	case PPC64EL_BL:
		put_link(&w);
		put_jump_taken(&w);
		return w.rc;
	case PPC64EL_B_IF:
		put_branch(&w, words[0]);
		return w.rc;
	case PPC64EL_BL_IF:
		put_link(&w);
		put_branch(&w, words[0]);
		return w.rc;
	case PPC64EL_LEAVE:
		put_leave(&w, words[0]);
		return w.rc;
	case PPC64EL_CALL:
		put_link(&w);
		put_leave(&w, words[0]);
		return w.rc;
	case PPC64EL_ADDRESS:
		put_number(&w, ppc64el_rt(words[0]), insn->target);
		slot_words_jump_back(&w);
		return w.rc;
	case PPC64EL_REFUSED:
	case PPC64EL_UNKNOWN:
		break;
	}
	return ubp_fail(err, EILSEQ, "'%s' was not analyzed", ppc64el_insn_text(insn).s);
}

void ppc64el_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code)
{
	slot_words_build_jump(ppc64el_encode_b, slot_vaddr, target, ret_code);
}

/*
 * At the branch of an imitated call: the link register is set, and cannot be taken back, but
 * what comes next is known. Not of one by the target address register.
 */
static bool finish_call(const struct displaced_insn *insn, struct ubp_regs *regs)
{
	uint32_t word = insn_word(insn->bytes);
	bool is_taken = ppc64el_is_taken(insn, regs);

	if (insn->form == PPC64EL_CALL && (word >> 1 & 0x3ff) == 560 && is_taken)
		return false;
	if (ppc64el_is_conditional(word) && !(ppc64el_rt(word) & 4))
		regs->r[PPC64EL_CTR]--;
	regs->r[PPC64EL_NIP] = !is_taken ? insn->vaddr + PPC64EL_INSN
			       : insn->form == PPC64EL_CALL
				       ? regs->r[PPC64EL_CTR] & ~UINT64_C(3)
				       : insn->target;
	return true;
}

bool ppc64el_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
			uint64_t slot_vaddr, struct ubp_regs *regs)
{
	uint64_t at = regs->r[PPC64EL_NIP] - slot_vaddr;
	bool is_call = insn->form == PPC64EL_BL_IF || insn->form == PPC64EL_CALL;

	regs->r[PPC64EL_NIP] = insn->vaddr;
	switch (slot_words_place(code, at)) {
	case SLOT_AT_TAKEN:
		regs->r[PPC64EL_NIP] = insn->target;
		return true;
	case SLOT_AT_START:
		return true;
	case SLOT_AT_DONE:
		regs->r[PPC64EL_NIP] = insn->vaddr + insn->len;
		return true;
	case SLOT_INSIDE:
		break;
	}
	return at == LINKED_AT && is_call && finish_call(insn, regs);
}
