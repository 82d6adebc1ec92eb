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
#include "engine/base/err.h"

#define NONE 0xff

/* Go's functions keep a word below the stack pointer; as much as x86-64 has is skipped. */
#define SAVE_X16    0xf8170ff0 /* str x16, [sp, #-144]! */
#define RESTORE_X16 0xf84907f0 /* ldr x16, [sp], #144 */
#define SAVED_BY    144

#define LDR_LITERAL 0x58000000 /* ldr x0, . */
#define IS_CALL     0x00200000 /* in blr and its kin: without it, br */

struct writer {
	uint64_t vaddr; /* of the slot */
	struct slot_code *out;
	const struct displaced_insn *insn;
	int rc;
	struct ubp_err *err;
};

static void put(struct writer *w, uint32_t word)
{
	arm64_put_word(w->out->code + w->out->len, word);
	w->out->len = (uint8_t)(w->out->len + ARM64_INSN);
}

/* @reg = the word at offset @literal, which follows the code. */
static void put_load(struct writer *w, unsigned reg, unsigned literal)
{
	put(w, LDR_LITERAL | (literal - w->out->len) / ARM64_INSN << 5 | reg);
}

static void put_literal(struct writer *w, uint64_t value)
{
	while (w->out->len % sizeof(value))
		put(w, 0);
	put(w, (uint32_t)value);
	put(w, (uint32_t)(value >> 32));
}

bool arm64_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word)
{
	uint64_t distance = to - from;

	*ret_word = 0x14000000 | (distance >> 2 & 0x03ffffff);
	return distance + ARM64_B_REACH < UINT64_C(2) * ARM64_B_REACH &&
	       distance % ARM64_INSN == 0;
}

static void put_jump(struct writer *w, uint64_t target)
{
	uint64_t from = w->vaddr + w->out->len;
	uint32_t word;

	if (!arm64_encode_b(from, target, &word) && w->rc == 0)
		w->rc = ubp_fail(w->err, ERANGE,
				 "'%s': 0x%llx is out of reach of a slot at 0x%llx",
				 w->insn->text, (unsigned long long)target,
				 (unsigned long long)w->vaddr);
	put(w, word);
}

static void put_jump_back(struct writer *w)
{
	w->out->done_at = w->out->len;
	put_jump(w, w->insn->vaddr + ARM64_INSN);
}

static void put_jump_taken(struct writer *w)
{
	w->out->taken_at = w->out->len;
	put_jump(w, w->insn->target);
}

/* The branch over the jump back to the jump to the target. */
static void put_branch(struct writer *w, uint32_t word)
{
	uint32_t bits = (word & 0x7e000000) == 0x36000000 ? 0x3fff : 0x7ffff;

	put(w, (word & ~(bits << 5)) | 2 << 5);
	put_jump_back(w);
	put_jump_taken(w);
}

static void put_call(struct writer *w)
{
	put_load(w, ARM64_X30, 8);
	put_jump_taken(w);
	put_literal(w, w->insn->vaddr + ARM64_INSN);
}

static void put_call_register(struct writer *w, uint32_t word)
{
	put_load(w, ARM64_X30, 8);
	/* Where a signed address leads is not known before. */
	if (w->insn->form == ARM64_BLR)
		w->out->taken_at = w->out->len;
	put(w, word & ~IS_CALL);
	put_literal(w, w->insn->vaddr + ARM64_INSN);
}

static void put_address(struct writer *w, uint32_t word)
{
	put_load(w, arm64_rd(word), 8);
	put_jump_back(w);
	put_literal(w, w->insn->target);
}

/* Whatever the register holds meanwhile: the instruction is to change it. */
static void put_literal_load(struct writer *w, uint32_t word)
{
	static const uint32_t loads[] = { 0xb9400000, 0xf9400000, 0xb9800000 };
	unsigned reg = arm64_rd(word);

	put_load(w, reg, 16);
	put(w, loads[word >> 30] | reg << 5 | reg);
	put_jump_back(w);
	put_literal(w, w->insn->target);
}

static void put_simd_load(struct writer *w, uint32_t word)
{
	static const uint32_t loads[] = { 0xbd400000, 0xfd400000, 0x3dc00000 };

	put(w, SAVE_X16);
	put_load(w, ARM64_X16, 24);
	put(w, loads[word >> 30] | ARM64_X16 << 5 | arm64_rd(word));
	put(w, RESTORE_X16);
	put_jump_back(w);
	put_literal(w, w->insn->target);
}

static void begin(struct writer *w)
{
	memset(w->out, 0, sizeof(*w->out));
	w->out->done_at = NONE;
	w->out->taken_at = NONE;
}

int arm64_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		     struct slot_code *ret_code, struct ubp_err *err)
{
	struct writer w = { .vaddr = slot_vaddr, .out = ret_code, .insn = insn, .err = err };
	uint32_t word = arm64_word(insn->bytes);

	begin(&w);
	switch ((enum arm64_form)insn->form) {
	case ARM64_COPY:
	case ARM64_SYSCALL:
		put(&w, word);
		put_jump_back(&w);
		return w.rc;
	case ARM64_NOTHING:
		put_jump_back(&w);
		return w.rc;
	case ARM64_LEAVE:
		put(&w, word);
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
	return ubp_fail(err, EILSEQ, "'%s' was not analyzed", insn->text);
}

/* Within an area: nothing there is too far. */
void arm64_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code)
{
	struct writer w = { .vaddr = slot_vaddr, .out = ret_code };
	uint32_t word;

	begin(&w);
	(void)arm64_encode_b(slot_vaddr, target, &word);
	put(&w, word);
}

bool arm64_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		      uint64_t slot_vaddr, struct ubp_regs *regs)
{
	uint64_t at = regs->r[ARM64_PC] - slot_vaddr;
	unsigned rn = arm64_rn(arm64_word(insn->bytes));

	regs->r[ARM64_PC] = insn->vaddr;
	if (at == code->taken_at && at < code->len) {
		if (insn->form != ARM64_BLR)
			regs->r[ARM64_PC] = insn->target;
		else
			regs->r[ARM64_PC] = rn == 31 ? 0 : regs->r[rn];
		return true;
	}
	/* A slot that is but a jump back: not yet done there. */
	if (at == 0)
		return true;
	if (at == code->done_at && at < code->len) {
		regs->r[ARM64_PC] = insn->vaddr + ARM64_INSN;
		return true;
	}
	if (insn->form == ARM64_LOAD_SIMD && at > 0 && at <= 3 * ARM64_INSN)
		regs->r[ARM64_SP] += SAVED_BY;
	return false;
}
