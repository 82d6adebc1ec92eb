/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The stack by frame pointers, as the tracer walks it (engine/hit/stack.c), or the trap: the
 * tracer reads what is not known to be readable, and knows what it replaced itself. For both
 * widths; entries have 64 bits in the record of either.
 *
 * The accumulator has the frame pointer, .regs.end is where the next entry goes.
 */

#include "arch/x86/common_detour_stack.h"

#include <stddef.h>

#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_return.h"
#include "arch/x86/common_detour_string.h"

/* Entries of the table that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

/* A word to 64 bits. */
static void store_entry(struct gen *g, int reg, struct emit_mem to)
{
	emit_rm(&g->e, OP_STORE | OP_W, reg, to);
	if (x86_takes_two(g, 8))
		emit_store_imm(&g->e, 0, x86_upper(to), 0);
}

static void put_entry(struct gen *g)
{
	const int end = x86_gen(g)->regs.end;

	store_entry(g, G_AX, MEM(end, 0));
	emit_alu(&g->e, OP_W, ALU_ADD, end, 8);
}

/* Room for their number, and the first: where the program is. */
static void begin(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	const struct x86_gen *x = x86_gen(g);
	const int to = x->regs.end;
	struct emit *e = &g->e;

	if (program->has_strings) {
		/* Records begin at multiples of 8, as their positions do. */
		x86_load_end(g);
		emit_alu(e, OP_W, ALU_ADD, to, 7);
		emit_alu(e, OP_W, ALU_AND, to, -8);
	} else {
		emit_rm(e, OP_LEA, to, x86_data_at(g, (program->fixed_size + 7) & ~7u));
	}
	emit_rm(e, OP_STORE | OP_W, to, MEM(G_SP, x->frame.stack));
	emit_alu(e, OP_W, ALU_ADD, to, 8);
	if (g->probe->kind == PROBE_RETURN)
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, x->frame.real));
	else
		emit_address(e, G_AX, g->plan->site);
	put_entry(g);
}

/*
 * The word behind the one that the accumulator points to: its address to the register that is
 * returned, and the offset of the first entry to look at for it to *ret_at. In 64 bits that register is
 * the accumulator itself, until end_look().
 */
static int begin_look(struct gen *g, int *ret_at)
{
	const int table = x86_gen(g)->returns->table;
	struct emit *e = &g->e;
	int word = G_AX;

	*ret_at = G_DX;
	if (table == G_NONE) {
		emit_rm(e, OP_LEA, word, MEM(X86_ACC, x86_word(g)));
	} else {
		word = X86_ACC;
		*ret_at = G_AX;
		emit_alu(e, OP_W, ALU_ADD, word, x86_word(g));
		emit_imm(e, table, g->plan->hijacks);
	}
	x86_hijack_offset(g, g->plan->hijacks_mask, *ret_at, word);
	return word;
}

static void end_look(struct gen *g)
{
	if (x86_gen(g)->returns->table != G_NONE)
		emit_alu(&g->e, OP_W, ALU_SUB, X86_ACC, x86_word(g));
}

/* Does the word hold what a call has put there for this entry? Else to @none. */
static void check_called(struct gen *g, int word, struct emit_mem back, label_t none)
{
	struct emit *e = &g->e;

	x86_load(g, OP_LOAD | OP_W, G_CX, back);
	emit_alu(e, OP_W, ALU_AND, G_CX, -x86_word(g));
	emit_alu(e, OP_W, ALU_SUB, G_CX, UBP_CALLED_BACK);
	emit_rm(e, OP_CMP | OP_W, G_CX, MEM(word, 0));
	emit_jcc(e, COND_NE, none);
}

/* rax = the real address, by the entry of the word behind the accumulator's; or to @none, before end_look(). Clobbers
 * rcx, rdx. */
static void look_up(struct gen *g, bool is_called, label_t none)
{
	const size_t at_word = offsetof(struct guard_hijack, word);
	const size_t at_real = offsetof(struct guard_hijack, real);
	const size_t at_back = offsetof(struct guard_hijack, back);
	const uint64_t table = g->plan->hijacks;
	int at, word = begin_look(g, &at);
	struct emit_mem key = x86_hijack_mem(g, table, at, at_word);
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP | OP_W, word, key);
	emit_jcc(e, COND_E, found);
	gen_may_fault(g, g->fail);
	emit_alu_mem(e, OP_W, ALU_CMP, key, 0);
	emit_jcc(e, COND_NE, next);
	emit_jmp(e, none);
	emit_set(e, next);
	x86_hijack_next(g, g->plan->hijacks_mask, at);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, none);
	emit_set(e, found);
	if (is_called)
		check_called(g, word, x86_hijack_mem(g, table, at, at_back), none);
	x86_load(g, OP_LOAD | OP_W, G_AX, x86_hijack_mem(g, table, at, at_real));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, none);
	end_look(g);
}

/* The same of an address that a call of a detour may have put there; else it is the real one. 64 bits. */
static void look_up_called(struct gen *g)
{
	label_t none = emit_label(&g->e), real = emit_label(&g->e), look = emit_label(&g->e);
	struct emit *e = &g->e;

	x86_if_called(g, G_CX, look);
	emit_jmp(e, real);
	emit_set(e, look);
	look_up(g, true, none);
	emit_jmp(e, real);
	emit_set(e, none);
	end_look(g);
	x86_load(g, OP_LOAD | OP_W, G_AX, MEM(X86_ACC, x86_word(g)));
	emit_set(e, real);
}

/* rax is a return address: what it was. */
static void real_address(struct gen *g)
{
	const struct detour_plan *plan = g->plan;
	label_t real = emit_label(&g->e);

	if (plan->trampoline) {
		x86_compare_address(g, plan->trampoline);
		emit_jcc(&g->e, COND_E, g->fail);
	}
	if (!plan->return_vaddr ||
	    !g->isa->returns->can_hijack(plan->hijacks, plan->hijacks_mask))
		return;
	x86_compare_address(g, plan->return_vaddr);
	if (g->isa->returns->calls) {
		label_t ours = emit_label(&g->e);

		emit_jcc(&g->e, COND_E, ours);
		look_up_called(g);
		emit_jmp(&g->e, real);
		emit_set(&g->e, ours);
	} else {
		emit_jcc(&g->e, COND_NE, real);
	}
	look_up(g, false, g->fail);
	emit_set(&g->e, real);
}

/* Frames upwards from that of the frame pointer, then to @done. */
static void walk(struct gen *g, uint32_t cell, label_t done)
{
	const struct x86_gen *x = x86_gen(g);
	const int32_t word = x86_word(g);
	struct emit *e = &g->e;
	label_t next;

	if (g->clobbered >> G_BP & 1)
		emit_rm(e, OP_LOAD | OP_W, X86_ACC, x86_slot(g, G_BP));
	else
		emit_rr(e, OP_LOAD | OP_W, X86_ACC, G_BP);
	emit_rm(e, OP_LEA, G_AX, x86_stack(g, 0));
	emit_rr(e, OP_CMP | OP_W, X86_ACC, G_AX);
	emit_jcc(e, COND_B, done);
	next = emit_here(e);
	emit_test(e, 0, X86_ACC, word - 1);
	emit_jcc(e, COND_NE, done);
	x->check(g, 0, 2 * (uint32_t)word, cell);
	x86_load(g, OP_LOAD | OP_W, G_AX, MEM(X86_ACC, word));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, done);
	real_address(g);
	put_entry(g);
	x86_load(g, OP_LOAD | OP_W, G_AX, MEM(X86_ACC, 0));
	emit_rr(e, OP_CMP | OP_W, G_AX, X86_ACC);
	emit_jcc(e, COND_BE, done);
	emit_rr(e, OP_LOAD | OP_W, X86_ACC, G_AX);
	emit_rr(e, OP_LOAD | OP_W, G_CX, x->regs.end);
	emit_rm(e, OP_SUB | OP_W, G_CX, MEM(G_SP, x->frame.stack));
	emit_alu(e, 0, ALU_CMP, G_CX, 8 + 8 * g->plan->frames);
	emit_jcc(e, COND_B, next);
}

static void end(struct gen *g)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;

	x86_store_end(g, x->regs.end);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, x->frame.stack));
	emit_rr(e, OP_LOAD | OP_W, G_CX, x->regs.end);
	emit_rr(e, OP_SUB | OP_W, G_CX, G_AX);
	emit_shift(e, OP_W, SHIFT_R, G_CX, 3);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	store_entry(g, G_CX, MEM(G_AX, 0));
}

const struct gen_stacks x86_stacks = { .begin = begin, .walk = walk, .end = end };
