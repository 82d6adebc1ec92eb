/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Code for slots. No register is free for an imitation but the one that the instruction
 * itself is to change: far addresses come from words behind the code, into that. Branches
 * reach 128 MB and no further, so a slot must be that near.
 *
 * An imitated call pushes nothing on a guarded control stack: not for threads that have
 * one. It does enter its target as a call does for branch target identification: from
 * pages that know of none, br lands on what is meant for calls, too.
 */

#include "arch/arm64/slot.h"

#include <errno.h>
#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/text.h"
#include "arch/insn_word.h"
#include "arch/slot_words.h"
#include "engine/base/err.h"

/* Go's functions keep a word below the stack pointer; as much as x86-64 has is skipped. */
#define SAVE_X16    0xf8170ff0 /* str x16, [sp, #-144]! */
#define RESTORE_X16 0xf84907f0 /* ldr x16, [sp], #144 */
#define SAVED_BY    144

#define LDR_LITERAL 0x58000000 /* ldr x0, . */
#define IS_CALL     0x00200000 /* in blr and its kin: without it, br */

/* @reg = the word at offset @literal, which follows the code. */
static void put_load(struct slot_writer *w, unsigned reg, unsigned literal)
{
	slot_words_put(w, LDR_LITERAL | (literal - w->out->len) / ARM64_INSN << 5 | reg);
}

static void put_literal(struct slot_writer *w, uint64_t value)
{
	while (w->out->len % sizeof(value))
		slot_words_put(w, 0);
	slot_words_put(w, (uint32_t)value);
	slot_words_put(w, (uint32_t)(value >> 32));
}

bool arm64_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word)
{
	uint64_t distance = to - from;

	*ret_word = 0x14000000 | (distance >> 2 & 0x03ffffff);
	return distance + ARM64_B_REACH < UINT64_C(2) * ARM64_B_REACH &&
	       distance % ARM64_INSN == 0;
}

static void put_jump_taken(struct slot_writer *w)
{
	w->out->taken_at = w->out->len;
	slot_words_jump(w, w->insn->target);
}

/* The branch over the jump back to the jump to the target. */
static void put_branch(struct slot_writer *w, uint32_t word)
{
	uint32_t bits = (word & 0x7e000000) == 0x36000000 ? 0x3fff : 0x7ffff;

	slot_words_put(w, (word & ~(bits << 5)) | 2 << 5);
	slot_words_jump_back(w);
	put_jump_taken(w);
}

static void put_call(struct slot_writer *w)
{
	put_load(w, ARM64_X30, 8);
	put_jump_taken(w);
	put_literal(w, w->insn->vaddr + ARM64_INSN);
}

static void put_call_register(struct slot_writer *w, uint32_t word)
{
	put_load(w, ARM64_X30, 8);
	/* Where a signed address leads is not known before. */
	if (w->insn->form == ARM64_BLR)
		w->out->taken_at = w->out->len;
	slot_words_put(w, word & ~IS_CALL);
	put_literal(w, w->insn->vaddr + ARM64_INSN);
}

static void put_address(struct slot_writer *w, uint32_t word)
{
	put_load(w, arm64_rd(word), 8);
	slot_words_jump_back(w);
	put_literal(w, w->insn->target);
}

/* Whatever the register holds meanwhile: the instruction is to change it. */
static void put_literal_load(struct slot_writer *w, uint32_t word)
{
	static const uint32_t loads[] = { 0xb9400000, 0xf9400000, 0xb9800000 };
	unsigned reg = arm64_rd(word);

	put_load(w, reg, 16);
	slot_words_put(w, loads[word >> 30] | reg << 5 | reg);
	slot_words_jump_back(w);
	put_literal(w, w->insn->target);
}

static void put_simd_load(struct slot_writer *w, uint32_t word)
{
	static const uint32_t loads[] = { 0xbd400000, 0xfd400000, 0x3dc00000 };

	slot_words_put(w, SAVE_X16);
	put_load(w, ARM64_X16, 24);
	slot_words_put(w, loads[word >> 30] | ARM64_X16 << 5 | arm64_rd(word));
	slot_words_put(w, RESTORE_X16);
	slot_words_jump_back(w);
	put_literal(w, w->insn->target);
}

int arm64_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		     struct slot_code *ret_code, struct ubp_err *err)
{
	struct slot_writer w = { .vaddr = slot_vaddr,
				 .out = ret_code,
				 .insn = insn,
				 .branch = arm64_encode_b,
				 .text = arm64_insn_text,
				 .err = err };
	uint32_t word = insn_word(insn->bytes);

	slot_words_begin(&w);
	switch ((enum arm64_form)insn->form) {
	case ARM64_COPY:
	case ARM64_SYSCALL:
		slot_words_put(&w, word);
		slot_words_jump_back(&w);
		return w.rc;
	case ARM64_NOTHING:
		slot_words_jump_back(&w);
		return w.rc;
	case ARM64_LEAVE:
		slot_words_put(&w, word);
		return w.rc;
	case ARM64_B:
		put_jump_taken(&w);
		return w.rc;
	case ARM64_B_IF:
		put_branch(&w, word);
		return w.rc;
	case ARM64_BL:
		put_call(&w);
		return w.rc;
	case ARM64_BLR:
	case ARM64_BLR_AUTH:
		put_call_register(&w, word);
		return w.rc;
	case ARM64_ADDRESS:
		put_address(&w, word);
		return w.rc;
	case ARM64_LOAD:
		put_literal_load(&w, word);
		return w.rc;
	case ARM64_LOAD_SIMD:
		put_simd_load(&w, word);
		return w.rc;
	case ARM64_REFUSED:
	case ARM64_UNKNOWN:
		break;
	}
	return ubp_fail(err, EILSEQ, "'%s' was not analyzed", arm64_insn_text(insn).s);
}

void arm64_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code)
{
	slot_words_build_jump(arm64_encode_b, slot_vaddr, target, ret_code);
}

bool arm64_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		      uint64_t slot_vaddr, struct ubp_regs *regs)
{
	uint64_t at = regs->r[ARM64_PC] - slot_vaddr;
	unsigned rn = arm64_rn(insn_word(insn->bytes));

	regs->r[ARM64_PC] = insn->vaddr;
	switch (slot_words_place(code, at)) {
	case SLOT_AT_TAKEN:
		if (insn->form != ARM64_BLR)
			regs->r[ARM64_PC] = insn->target;
		else
			regs->r[ARM64_PC] = rn == 31 ? 0 : regs->r[rn];
		return true;
	case SLOT_AT_START:
		return true;
	case SLOT_AT_DONE:
		regs->r[ARM64_PC] = insn->vaddr + ARM64_INSN;
		return true;
	case SLOT_INSIDE:
		break;
	}
	if (insn->form == ARM64_LOAD_SIMD && at <= 3 * ARM64_INSN)
		regs->r[ARM64_SP] += SAVED_BY;
	return false;
}
