/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/slot_words.h"

#include <errno.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"

#define NONE 0xff

void slot_words_begin(struct slot_writer *w)
{
	memset(w->out, 0, sizeof(*w->out));
	w->out->done_at = NONE;
	w->out->taken_at = NONE;
}

void slot_words_put(struct slot_writer *w, uint32_t word)
{
	insn_put_word(w->out->code + w->out->len, word);
	w->out->len = (uint8_t)(w->out->len + sizeof(word));
}

void slot_words_too_far(struct slot_writer *w, uint64_t target)
{
	if (w->rc == 0)
		w->rc = ubp_fail(w->err, ERANGE,
				 "'%s': 0x%llx is out of reach of a slot at 0x%llx",
				 w->text(w->insn).s, (unsigned long long)target,
				 (unsigned long long)w->vaddr);
}

void slot_words_jump(struct slot_writer *w, uint64_t target)
{
	uint32_t word;

	if (!w->branch(w->vaddr + w->out->len, target, &word))
		slot_words_too_far(w, target);
	slot_words_put(w, word);
}

void slot_words_jump_back(struct slot_writer *w)
{
	w->out->done_at = w->out->len;
	slot_words_jump(w, w->insn->vaddr + w->insn->len);
}

void slot_words_build_jump(slot_branch_fn *branch, uint64_t slot_vaddr, uint64_t target,
			   struct slot_code *ret_code)
{
	struct slot_writer w = { .vaddr = slot_vaddr, .out = ret_code };
	uint32_t word;

	slot_words_begin(&w);
	(void)branch(slot_vaddr, target, &word);
	slot_words_put(&w, word);
}

int slot_words_window_jump(slot_branch_fn *branch, insn_text_fn *text,
			   const struct window *window, uint64_t site, uint64_t target,
			   uint8_t *ret_jump, struct ubp_err *err)
{
	uint32_t word;

	if (!branch(site, target, &word))
		return ubp_fail(err, ERANGE, "'%s': 0x%llx is out of reach of a jump at 0x%llx",
				text(&window->insns[0]).s, (unsigned long long)target,
				(unsigned long long)site);
	insn_put_word(ret_jump, word);
	return 0;
}

enum slot_place slot_words_place(const struct slot_code *code, uint64_t at)
{
	if (at == code->taken_at && at < code->len)
		return SLOT_AT_TAKEN;
	/* A slot that is but a jump back: not yet done there. */
	if (at == 0)
		return SLOT_AT_START;
	return at == code->done_at && at < code->len ? SLOT_AT_DONE : SLOT_INSIDE;
}
