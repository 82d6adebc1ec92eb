/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Functions that their detour calls (UBP_CALLED_AT, arch/guard.h):
 *
 *   call the copy          the return address is replaced by this
 *   jmp called             UBP_CALLED_BACK bytes, then .back of the entry:
 *   jmp found              from the common code, which has found the entry
 *   called: a frame; find the entry
 *   found:  ...
 *
 * The way home is a ret, for the processor expects that of the call that the program has made. Both are as a shadow stack wants them, too.
 */

#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_return.h"
#include "arch/x86/gen.h"

static void call(struct gen *g, label_t on)
{
	g->out->call_word = FRAME_ALL;
	emit_call(&g->e, on);
}

/*
 * The entry's address to .hijack, if it is the first one that is looked at, is in use, and has no chain; else to @other. The word
 * must hold what the call has put there: if the function popped arguments it is another word, whose entry may be of a call that a
 * longjmp() left.
 */
static void find_own(struct gen *g, label_t back, label_t other)
{
	const uint64_t table = g->plan->hijacks;
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit *e = &g->e;

	emit_imm(e, r->table, table);
	emit_rm(e, OP_LEA, r->word, x86_way_home(g));
	x86_first_entry(g, g->plan->hijacks_mask);
	emit_rm(e, OP_CMP | OP_W, r->word,
		x86_entry_mem(g, table, offsetof(struct guard_hijack, word)));
	emit_jcc(e, COND_NE, other);
	emit_rm(e, OP_LEA, r->hijack, x86_found_mem(g, 0));
	emit_label_address(e, G_AX, back);
	emit_rm(e, OP_CMP | OP_W, G_AX, MEM(r->hijack, offsetof(struct guard_hijack, back)));
	emit_jcc(e, COND_NE, other);
	emit_alu(e, OP_W, ALU_SUB, G_AX, UBP_CALLED_BACK);
	emit_rm(e, OP_CMP | OP_W, G_AX, MEM(r->word, 0));
	emit_jcc(e, COND_NE, other);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(r->hijack, offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_E, other);
}

static void called(struct gen *g, label_t back, label_t other)
{
	label_t here = emit_label(&g->e), found = emit_label(&g->e);

	emit_jmp(&g->e, here); /* UBP_CALLED_BACK bytes, forwards */
	emit_set(&g->e, back);
	emit_jmp(&g->e, found);
	emit_set(&g->e, here);
	x86_begin(g, GEN_HIJACK_REGS);
	find_own(g, back, other);
	emit_set(&g->e, found);
}

/* The common code knows the word by its own address. Somebody may have put back the real one meanwhile: that stays. */
static void other(struct gen *g, label_t at)
{
	struct emit *e = &g->e;

	emit_label_address(e, G_AX, at);
	emit_address(e, G_CX, g->plan->return_vaddr);
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX, x86_way_home(g));
	x86_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	emit_rm(e, 0xff, 4, /* jmp */
		MEM_LABEL(
			gen_literal(g, &g->plan->return_vaddr, sizeof(g->plan->return_vaddr))));
}

/* Of a function that was entered by a jump from another one that has to come back, too: on to the common code, by no ret. */
static void home(struct gen *g)
{
	struct emit *e = &g->e;
	label_t chain = emit_label(e);

	emit_address(e, G_AX, g->plan->return_vaddr);
	emit_rm(e, OP_CMP | OP_W, G_AX, x86_way_home(g));
	emit_jcc(e, COND_E, chain);
	x86_restore(g, g->early, GEN_RET);
	emit_u8(e, 0xc3); /* ret */
	emit_set(e, chain);
	x86_restore(g, g->early, GEN_RETURN);
	g->isa->go_home(e);
}

const struct gen_calls gen64_calls = {
	.len = 5,
	.call = call,
	.called = called,
	.other = other,
	.home = home,
};
