/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Slots where instructions are words of 4 bytes, and a branch to a far place is one of them. Each instruction set decides
 * what a slot consists of; here is how words and branches get into it, and what a thread in it has done.
 */

#ifndef UBP_ARCH_SLOT_WORDS_H
#define UBP_ARCH_SLOT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* A branch from @from to @to; false: too far. */
typedef bool slot_branch_fn(uint64_t from, uint64_t to, uint32_t *ret_word);

typedef struct insn_text insn_text_fn(const struct displaced_insn *insn);

struct slot_writer {
	uint64_t vaddr; /* of the slot */
	struct slot_code *out;
	const struct displaced_insn *insn;
	slot_branch_fn *branch;
	insn_text_fn *text;
	int rc;
	struct ubp_err *err;
};

/* An empty slot: the first of all. */
void slot_words_begin(struct slot_writer *w);
void slot_words_put(struct slot_writer *w, uint32_t word);
/* What fails if @target is out of reach: sets .rc and .err, unless something has failed before. */
void slot_words_too_far(struct slot_writer *w, uint64_t target);
/* A branch to @target; behind the displaced instruction, noted as .done_at. */
void slot_words_jump(struct slot_writer *w, uint64_t target);
void slot_words_jump_back(struct slot_writer *w);

/* slot.build_jump(): within an area, where nothing is too far. */
void slot_words_build_jump(slot_branch_fn *branch, uint64_t slot_vaddr, uint64_t target,
			   struct slot_code *ret_code);

/* jump.build(), for windows as arch/window_one.h has them. */
int slot_words_window_jump(slot_branch_fn *branch, insn_text_fn *text,
			   const struct window *window, uint64_t site, uint64_t target,
			   uint8_t *ret_jump, struct ubp_err *err);

/* Where in its slot a thread is: what slot.leave() asks first. */
enum slot_place {
	SLOT_AT_START, /* it has done nothing */
	SLOT_AT_TAKEN, /* the branch is taken */
	SLOT_AT_DONE,  /* it is done */
	SLOT_INSIDE,   /* in the middle of an imitation */
};
enum slot_place slot_words_place(const struct slot_code *code, uint64_t at);

#endif
