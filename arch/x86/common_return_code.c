/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes, for both widths: the common code, that return addresses are replaced by. It finds out which word was
 * returned by, and goes to the return code of its entry, or of the last one of its chain
 * (common_detour_return.c).
 */

#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_return.h"
#include "engine/base/page.h"

#define UD2 "\x0f\x0b"

/* Entries that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

/* Which words below the stack pointer may be the one that was returned by. */
enum look {
	LOOK_OURS_FIRST, /* the first, if it holds our address, and has an entry in use */
	LOOK_KERNEL, /* the first, if it holds what may be the kernel's, and has an entry in use */
	LOOK_OURS,     /* that holds our address, and has an entry in use */
	LOOK_PUT_BACK, /* that holds what its entry says it was given back */
	LOOK_ANY,      /* that has an entry in use, down to .pops_max */
};

/* What the common code is made for. */
struct table {
	uint64_t vaddr, mask;
	label_t again, found, home;
};

/* The entry of .word, the last of a chain: its address to .hijack. If it is not in use, the chain is one less, and
 * all is looked for once more. Uses rax. */
static void last_of_chain(struct gen *g, const struct table *table, struct emit_mem first)
{
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit_mem word =
		x86_entry_mem(g, table->vaddr, offsetof(struct guard_hijack, word));
	struct emit *e = &g->e;
	label_t look, none = emit_label(e), found = emit_label(e);

	x86_first_entry(g, table->mask);
	emit_imm(e, G_AX, LOOKS);
	look = emit_here(e);
	emit_rm(e, OP_CMP | OP_W, r->word, word);
	emit_jcc(e, COND_E, found);
	x86_next_entry(g, table->mask);
	emit_alu(e, 0, ALU_SUB, G_AX, 1);
	emit_jcc(e, COND_NE, look);
	emit_set(e, none);
	emit_rm(e, OP_LOAD | OP_W, G_AX, first);
	emit_alu_mem(e, OP_W, ALU_SUB, MEM(G_AX, offsetof(struct guard_hijack, back)), 1);
	emit_jmp(e, table->again);
	emit_set(e, found);
	x86_make_found(g, table->vaddr);
	emit_alu_mem(e, OP_W, ALU_CMP, x86_found_mem(g, offsetof(struct guard_hijack, real)),
		     0);
	emit_jcc(e, COND_E, none);
	if (r->table != G_NONE)
		emit_rm(e, OP_LEA, r->hijack, x86_found_mem(g, 0));
}

/*
 * At .found: the entry's address to .hijack, and on to its return code; or to that of the last of its
 * chain, which is one less by then. If that is over since, all is looked for once more. Uses .word.
 */
static void go_back(struct gen *g, const struct table *table)
{
	const struct x86_returns *r = x86_gen(g)->returns;
	const struct emit_mem back = MEM(r->hijack, offsetof(struct guard_hijack, back));
	const struct emit_mem first = MEM(G_SP, x86_gen(g)->frame.real);
	struct emit *e = &g->e;
	label_t chain = emit_label(e);

	emit_set(e, table->found);
	if (r->table != G_NONE)
		emit_rm(e, OP_LEA, r->hijack, x86_found_mem(g, 0));
	if (!r->chains) {
		emit_rm(e, 0xff, 4, back); /* jmp */
		return;
	}
	emit_rm(e, OP_LOAD | OP_W, G_AX, back);
	emit_alu(e, OP_W, ALU_AND, G_AX, (int32_t)UBP_CHAIN_MOST((uint32_t)x86_word(g)));
	emit_jcc(e, COND_NE, chain);
	emit_rm(e, 0xff, 4, back); /* jmp */
	emit_set(e, chain);
	emit_rm(e, OP_STORE | OP_W, r->hijack, first);
	emit_rr(e, OP_ADD | OP_W, r->word, G_AX);
	last_of_chain(g, table, first);
	emit_rm(e, OP_LOAD | OP_W, G_AX, first);
	emit_alu_mem(e, OP_W, ALU_SUB, MEM(G_AX, offsetof(struct guard_hijack, back)), 1);
	emit_rm(e, 0xff, 4, back); /* jmp */
}

/*
 * Behind a comparison of the found entry's .real with 0. It is in use, and the word holds that: on to its
 * return code. It is over, and the word holds what it says was given back: to @home, with the word in
 * rax. Else to @none, or behind this.
 */
static void check_put_back(struct gen *g, const struct table *table, label_t none)
{
	struct emit_mem given = x86_found_mem(g, offsetof(struct guard_hijack, time));
	struct emit_mem real = x86_found_mem(g, offsetof(struct guard_hijack, real));
	const struct x86_returns *r = x86_gen(g)->returns;
	label_t over = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(r->word, 0));
	emit_jcc(e, COND_E, over);
	emit_rm(e, OP_CMP | OP_W, G_AX, real);
	emit_jcc(e, COND_NE, none);
	emit_jmp(e, table->found);
	emit_set(e, over);
	if (g->isa->bits == 32) {
		_Static_assert((uint32_t)UBP_GIVEN_BACK == 0, "an address is the lower half");
		emit_alu_mem(e, 0, ALU_CMP, x86_upper(given), (int32_t)(UBP_GIVEN_BACK >> 32));
		emit_jcc(e, COND_NE, none);
		emit_rm(e, OP_CMP, G_AX, given);
	} else {
		emit_imm(e, G_AX, UBP_GIVEN_BACK);
		emit_rm(e, OP_XOR | OP_W, G_AX, given);
		emit_rm(e, OP_CMP | OP_W, G_AX, MEM(r->word, 0));
	}
	emit_jcc(e, COND_E, table->home);
}

/*
 * If .word has an entry that is in use, on to its return code; if that is over, but is
 * what is looked for, to .home, with the way in rax. Else behind this. Uses rax.
 */
static void look_up(struct gen *g, const struct table *table, enum look which)
{
	const size_t at_word = offsetof(struct guard_hijack, word);
	struct emit_mem word = x86_entry_mem(g, table->vaddr, at_word);
	struct emit *e = &g->e;
	label_t look, found = emit_label(e), none = emit_label(e);

	x86_first_entry(g, table->mask);
	emit_imm(e, G_AX, LOOKS);
	look = emit_here(e);
	emit_rm(e, OP_CMP | OP_W, x86_gen(g)->returns->word, word);
	emit_jcc(e, COND_E, found);
	emit_alu_mem(e, OP_W, ALU_CMP, word, 0);
	emit_jcc(e, COND_E, none);
	x86_next_entry(g, table->mask);
	emit_alu(e, 0, ALU_SUB, G_AX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, none);
	emit_set(e, found);
	x86_make_found(g, table->vaddr);
	emit_alu_mem(e, OP_W, ALU_CMP, x86_found_mem(g, offsetof(struct guard_hijack, real)),
		     0);
	if (which == LOOK_PUT_BACK) {
		check_put_back(g, table, none);
	} else {
		emit_jcc(e, COND_NE, table->found);
	}
	emit_set(e, none);
}

/* To @next if the word can't be one that is looked for. @which is one that asks for what it holds. */
static void check_word(struct gen *g, enum look which, label_t next)
{
	const int word = x86_gen(g)->returns->word;
	struct emit *e = &g->e;

	if (which == LOOK_OURS_FIRST) {
		emit_rm(e, OP_CMP | OP_W, G_CX, MEM(word, 0));
		emit_jcc(e, COND_NE, next);
	}
	if (which == LOOK_OURS) {
		label_t ours = emit_label(e);

		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(word, 0));
		emit_rr(e, OP_CMP | OP_W, G_CX, G_AX);
		if (g->isa->returns->calls) {
			emit_jcc(e, COND_E, ours);
			x86_if_called(g, G_AX, ours);
			emit_jmp(e, next);
		} else {
			emit_jcc(e, COND_NE, next);
		}
		emit_set(e, ours);
	}
	if (which == LOOK_KERNEL) {
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(word, 0));
		emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
		emit_jcc(e, COND_E, next);
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_NE, next);
	}
}

/* rax = the last word to look at. */
static void look_until(struct gen *g, enum look which)
{
	const int pops = x86_gen(g)->returns->pops_max;
	struct emit *e = &g->e;

	if (which == LOOK_PUT_BACK) {
		emit_rm(e, OP_LEA, G_AX, x86_stack(g, -X86_DISTANCE));
		return;
	}
	if (which == LOOK_ANY) {
		emit_rm(e, OP_LEA, G_AX, x86_stack(g, -x86_word(g) - pops));
		return;
	}
	/* The page that our frame ends in is there; the one below it may be the stack's guard. */
	if (g->isa->bits == 32)
		emit_rr(e, OP_LOAD, G_AX, G_SP);
	else
		emit_rm(e, OP_LEA, G_AX, MEM(G_SP, 0));
	emit_alu(e, OP_W, ALU_AND, G_AX, -(int32_t)PAGE);
}

/* Words from the one below the stack pointer down. */
static void look_below(struct gen *g, const struct table *table, enum look which)
{
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit *e = &g->e;
	label_t word, next = emit_label(e);

	emit_rm(e, OP_LEA, r->word, x86_way_home(g));
	word = emit_here(e);
	check_word(g, which, next);
	look_up(g, table, which);
	emit_set(e, next);
	if (which == LOOK_OURS_FIRST || which == LOOK_KERNEL ||
	    (which == LOOK_ANY && !r->pops_max))
		return;
	emit_alu(e, OP_W, ALU_SUB, r->word, x86_word(g));
	look_until(g, which);
	emit_rr(e, OP_CMP | OP_W, r->word, G_AX);
	emit_jcc(e, COND_AE, word);
}

/*
 * The word that was returned by is the one below the stack pointer, or further down
 * if the callee popped arguments: then what is in between is none that holds our address.
 * It need not hold it: where there is no red zone, a signal's frame may have come to lie there just now,
 * before the frame protected it; and while a handler ran here, an unwinder in it, or the tracer at its
 * end, may have put the real address back. If the entry is over, too, what stands in the word now
 * is the way home, or to the tracer's own trampoline.
 * A function that was entered by a jump from ours, with a uretprobe on it, came here from the kernel,
 * whose address may stand in the word: that is looked for before all others, but for our own in
 * that very word, which is nearly always there.
 */
void x86_return_code(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline)
{
	const struct x86_returns *r = x86_gen(g)->returns;
	const uint32_t regs = g->isa->returns->regs;
	struct emit *e = &g->e;
	label_t start = emit_here(e), lost = emit_label(e), leave = emit_label(e);
	struct table table = { hijacks, mask, emit_label(e), emit_label(e), emit_label(e) };

	(void)trampoline; /* the word that was returned by leads there itself */
	x86_begin(g, regs);
	if (r->table != G_NONE)
		emit_imm(e, r->table, hijacks);
	r->find_self(g, start);
	emit_set(e, table.again);
	look_below(g, &table, LOOK_OURS_FIRST);
	look_below(g, &table, LOOK_KERNEL);
	look_below(g, &table, LOOK_OURS);
	look_below(g, &table, LOOK_PUT_BACK);
	look_below(g, &table, LOOK_ANY);
	emit_rm(e, OP_CMP | OP_W, G_CX, x86_way_home(g));
	emit_jcc(e, COND_E, lost);
	emit_jmp(e, leave);
	go_back(g, &table);
	emit_set(e, table.home);
	emit_rm(e, OP_STORE | OP_W, G_AX, x86_way_home(g));
	emit_set(e, leave);
	x86_restore(g, regs, GEN_RETURN);
	g->isa->go_home(e);
	emit_set(e, lost);
	x86_restore(g, regs, GEN_TRAP);
	emit_u8(e, INT3);
	emit_bytes(e, UD2, 2);
}
