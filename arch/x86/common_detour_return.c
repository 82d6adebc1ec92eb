/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes, for both widths: the return address is replaced by that of the common return
 * code; what stood there is kept in a table of the process (struct guard_hijack), by the address of
 * its stack word.
 *
 *   entry            the stack word's entry in the table, new or its own from before:
 *                    where the return code is, the real address; then the word
 *   common code      the entry of the word that was returned by, its return code
 *   return code      the real address from the entry, which is free again, to the word
 *                    below the stack pointer, where the way home goes by
 *
 * Where the word is replaced already, the function was entered by a jump: it gets an entry of the next level,
 * which the last store makes part of the word's chain. The common code goes to the last of
 * a chain, whose return code has the common code for its way home.
 *
 * In 64 bits the word is replaced by a call of the function, which is the last step of its entry (UBP_CALLED_AT). It returns to its
 * own return code then, which looks for the entry by itself. Only what is not that simple is for the common code.
 *
 * A signal handler that interrupts this uses other stack words, and no entry changes its
 * word. Only it can't be told from a frame that a longjmp() left whether the real address of
 * an entry is still wanted: the tracer decides, by the trap.
 *
 * In 32 bits all words of the table have an upper half that is 0.
 */

#include "arch/x86/common_detour_return.h"

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "arch/x86/common_detour.h"
#include "engine/base/ring.h"

#define OP_XCHG 0x87 /* with memory: as if it had a lock */

/* Entries that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

struct emit_mem x86_hijack_mem(const struct gen *g, uint64_t table, int at, size_t member)
{
	const int base = x86_gen(g)->returns->table;

	return base == G_NONE ? MEM(at, (uint32_t)table + member) : MEM_X(base, at, 0, member);
}

/* UBP_HIJACK_INDEX() */
void x86_hijack_offset(struct gen *g, uint64_t mask, int at, int word)
{
	const unsigned per_word = g->isa->bits == 32 ? 2 : 3;
	struct emit *e = &g->e;

	_Static_assert(sizeof(struct guard_hijack) == 1 << X86_HIJACK_SHIFT,
		       "a shift makes offsets");
	emit_rr(e, OP_LOAD | OP_W, at, word);
	emit_shift(e, OP_W, SHIFT_R, at, UBP_HIJACK_DRIFT);
	emit_rm(e, OP_LEA, at, MEM_X(word, at, per_word, 0));
	emit_shift(e, OP_W, SHIFT_L, at, X86_HIJACK_SHIFT + 1 - per_word);
	emit_alu(e, OP_W, ALU_AND, at, (int32_t)((mask & ~1ULL) << X86_HIJACK_SHIFT));
}

void x86_hijack_next(struct gen *g, uint64_t mask, int at)
{
	emit_alu(&g->e, OP_W, ALU_ADD, at, 1 << X86_HIJACK_SHIFT);
	emit_alu(&g->e, OP_W, ALU_AND, at, (int32_t)(mask << X86_HIJACK_SHIFT));
}

void x86_compare_address(struct gen *g, uint64_t address)
{
	struct emit *e = &g->e;

	if (g->isa->bits == 32) {
		emit_alu(e, 0, ALU_CMP, G_AX, (int32_t)address);
	} else {
		emit_address(e, G_CX, address);
		emit_rr(e, OP_CMP | OP_W, G_AX, G_CX);
	}
}

struct emit_mem x86_entry_mem(const struct gen *g, uint64_t table, size_t member)
{
	return x86_hijack_mem(g, table, x86_gen(g)->returns->hijack, member);
}

struct emit_mem x86_found_mem(const struct gen *g, size_t member)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	return r->table == G_NONE ? MEM(r->hijack, member)
				  : MEM_X(r->table, r->hijack, 0, member);
}

void x86_first_entry(struct gen *g, uint64_t mask)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	x86_hijack_offset(g, mask, r->hijack, r->word);
}

void x86_next_entry(struct gen *g, uint64_t mask)
{
	x86_hijack_next(g, mask, x86_gen(g)->returns->hijack);
}

void x86_make_found(struct gen *g, uint64_t table)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	if (r->table == G_NONE)
		emit_alu(&g->e, 0, ALU_ADD, r->hijack, (int32_t)table);
}

/* --- on entry ------------------------------------------------------------------------ */

/* It is not the first one, or there is none. */
static void put_provide(struct gen *g, const struct gen_aside *a)
{
	uint64_t mask = g->plan->hijacks_mask, table = g->plan->hijacks;
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit_mem word = x86_entry_mem(g, table, offsetof(struct guard_hijack, word));
	struct emit *e = &g->e;
	label_t look, next = emit_label(e);

	emit_set(e, a->at);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, a->other);
	emit_rm(e, OP_LOAD | OP_W, G_AX, word);
	emit_rr(e, OP_CMP | OP_W, G_AX, r->word);
	emit_jcc(e, COND_E, a->on);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, next);
	gen_may_fault(g, a->other);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, r->word, word);
	emit_jcc(e, COND_E, a->on);
	emit_set(e, next);
	x86_next_entry(g, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, a->other);
}

/* The entry of .word, if there is none a new one. Uses rax, rcx. */
static void provide_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask, table = g->plan->hijacks;
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit *e = &g->e;
	label_t look = emit_label(e), found = emit_label(e);

	if (r->table != G_NONE)
		emit_imm(e, r->table, table);
	x86_first_entry(g, mask);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMP | OP_W, r->word,
		x86_entry_mem(g, table, offsetof(struct guard_hijack, word)));
	emit_jcc(e, COND_NE, look);
	emit_set(e, found);
	x86_make_found(g, table);
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_provide, .at = look, .on = found, .other = trap });
}

/* rax to an entry that was found. */
static void store(struct gen *g, label_t trap, size_t member)
{
	gen_may_fault(g, trap);
	emit_rm(&g->e, OP_STORE | OP_W, G_AX, x86_found_mem(g, member));
}

/* To @trap if the word, which is in rax, holds this already. */
static void refuse(struct gen *g, uint64_t address, label_t trap)
{
	x86_compare_address(g, address);
	emit_jcc(&g->e, COND_E, trap);
}

/* The stack word, once there is an entry. In 32 bits the time was noted by the help of .word. */
static struct emit_mem stack_word(const struct gen *g)
{
	return g->isa->bits == 32 ? x86_stack(g, 0) : MEM(x86_gen(g)->returns->word, 0);
}

static void replace(struct gen *g, label_t trap)
{
	struct emit *e = &g->e;

	if (g->isa->bits == 32) {
		gen_may_fault(g, trap);
		emit_store_imm(e, 0, stack_word(g), (uint32_t)g->plan->return_vaddr);
	} else {
		emit_address(e, G_AX, g->plan->return_vaddr);
		gen_may_fault(g, trap);
		emit_rm(e, OP_STORE | OP_W, G_AX, stack_word(g));
	}
}

/* On entry: the address of the word's entry, of a function that was entered by a jump; else 0. */
static struct emit_mem first_of_chain(const struct gen *g)
{
	return MEM(G_SP, x86_gen(g)->frame.real);
}

/* The entry of .word, or to @trap. */
static void find_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask, table = g->plan->hijacks;
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit *e = &g->e;
	label_t look, found = emit_label(e);

	if (r->table != G_NONE)
		emit_imm(e, r->table, table);
	x86_first_entry(g, mask);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMP | OP_W, r->word,
		x86_entry_mem(g, table, offsetof(struct guard_hijack, word)));
	emit_jcc(e, COND_E, found);
	x86_next_entry(g, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, trap);
	emit_set(e, found);
	x86_make_found(g, table);
}

/*
 * rax, the word, whose address is in .word, may be what a call has put there. If so: its entry was found, then on behind this. Else, or
 * where the word was left behind and put there again, to @no. Clobbers rcx.
 */
static void check_called(struct gen *g, label_t no)
{
	struct emit *e = &g->e;

	find_entry(g, no);
	emit_rm(e, OP_LOAD | OP_W, G_CX, x86_found_mem(g, offsetof(struct guard_hijack, back)));
	emit_alu(e, OP_W, ALU_AND, G_CX, -x86_word(g));
	emit_alu(e, OP_W, ALU_SUB, G_CX, UBP_CALLED_BACK);
	emit_rr(e, OP_CMP | OP_W, G_AX, G_CX);
	emit_jcc(e, COND_NE, no);
	emit_alu_mem(e, OP_W, ALU_CMP, x86_found_mem(g, offsetof(struct guard_hijack, real)),
		     0);
	emit_jcc(e, COND_E, no);
}

/* The word, whose address is in .word, is replaced, and its entry was found: .word becomes that of the next in its chain. */
static void next_of_chain(struct gen *g, label_t trap)
{
	const int word = x86_gen(g)->returns->word;
	const int32_t most = UBP_CHAIN_MOST((uint32_t)x86_word(g));
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_CX, x86_found_mem(g, 0));
	emit_rm(e, OP_STORE | OP_W, G_CX, first_of_chain(g));
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_CX, offsetof(struct guard_hijack, back)));
	emit_alu(e, OP_W, ALU_AND, G_AX, most);
	emit_alu(e, OP_W, ALU_CMP, G_AX, most);
	emit_jcc(e, COND_E, trap);
	emit_rm(e, OP_LEA, word, MEM_X(word, G_AX, 0, 1));
}

/* rcx = the entry of the word: the one that was found becomes part of its chain. */
static void put_chain(struct gen *g, const struct gen_aside *a)
{
	struct emit *e = &g->e;

	emit_set(e, a->at);
	gen_may_fault(g, a->other);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_CX, offsetof(struct guard_hijack, real)));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, a->other);
	store(g, a->other, offsetof(struct guard_hijack, real));
	gen_may_fault(g, a->other);
	emit_alu_mem(e, OP_W, ALU_ADD, MEM(G_CX, offsetof(struct guard_hijack, back)), 1);
	emit_jmp(e, a->on);
}

/* The entry that was found, if it is of the next one, becomes part of the chain: then to @done. */
static void add_to_chain(struct gen *g, label_t trap, label_t done)
{
	label_t chain = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_CX, first_of_chain(g));
	emit_rr(e, OP_TEST | OP_W, G_CX, G_CX);
	emit_jcc(e, COND_NE, chain);
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_chain, .at = chain, .on = done, .other = trap });
}

void x86_if_called(struct gen *g, int scratch, label_t yes)
{
	struct emit *e = &g->e;

	emit_rr(e, OP_LOAD, scratch, G_AX);
	emit_alu(e, 0, ALU_AND, scratch, UBP_CALLED_ALIGN - 1);
	emit_alu(e, 0, ALU_CMP, scratch, UBP_CALLED_AT);
	emit_jcc(e, COND_E, yes);
}

/* The word may be ours, or (.other) what a call has put there. Of a function that was entered by a jump: on as behind look_at_word(), at
 * .n. Of any other: on. */
static void put_look_for_chain(struct gen *g, const struct gen_aside *a)
{
	const label_t called = a->other, known = a->n;
	label_t chain = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_set(e, called);
	check_called(g, a->on);
	emit_jmp(e, chain);
	emit_set(e, a->at);
	find_entry(g, g->fail);
	emit_set(e, chain);
	next_of_chain(g, g->fail);
	emit_jmp(e, known);
}

/* Of a function that was entered by a jump: as look_at_word(), then to @known. Of any other: on behind this. */
static void look_for_chain(struct gen *g, label_t trap, label_t known)
{
	label_t ours = emit_label(&g->e), called = emit_label(&g->e);
	const int word = x86_gen(g)->returns->word;
	struct emit *e = &g->e;

	/* A stack as no compiler makes it: the lowest bits are not free. */
	emit_test(e, 0, word, x86_word(g) - 1);
	emit_jcc(e, COND_NE, trap);
	x86_compare_address(g, g->plan->return_vaddr);
	emit_jcc(e, COND_E, ours);
	x86_if_called(g, G_CX, called);
	gen_put_aside(g, &(struct gen_aside){ .put = put_look_for_chain,
					      .at = ours,
					      .other = called,
					      .on = emit_here(e),
					      .n = known });
}

/* .word, and the word in rax; to @trap if it can't be replaced. */
static void look_at_word(struct gen *g, label_t trap)
{
	const bool chains = x86_gen(g)->returns->chains;
	const int word = x86_gen(g)->returns->word;
	label_t known = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, word, x86_stack(g, 0));
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(word, 0));
	refuse(g, g->plan->trampoline, trap);
	if (chains) {
		look_for_chain(g, trap, known);
	} else {
		refuse(g, g->plan->return_vaddr, trap);
	}
	if (g->plan->leaves_kernel_return) {
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_E, trap);
	}
	if (chains)
		emit_store_imm(e, OP_W, first_of_chain(g), 0);
	emit_set(e, known);
}

/*
 * The entry is in use, but the word holds what a call has just put there: a longjmp() left what it was for. A tracer counts that by
 * probes. Where nobody traces the process, it is counted here, and the entry is this one's.
 */
static void put_left(struct gen *g, const struct gen_aside *a)
{
	struct emit *e = &g->e;

	emit_set(e, a->at);
	x86_gen(g)->gate_word(g, G_AX, offsetof(struct guard_gate, alone), g->fail);
	emit_test(e, OP_W, G_AX, 1);
	emit_jcc(e, COND_E, g->fail);
	x86_gate(g, G_AX, g->fail);
	emit_alu(e, OP_W, ALU_CMP, G_AX, RING_GATE_TRAP);
	emit_jcc(e, COND_BE, g->fail);
	x86_count_up(g, OP_LOCK, MEM(G_AX, offsetof(struct ring_head, left)), &g->fail);
	emit_jmp(e, a->on);
}

void x86_hijack(struct gen *g, label_t back, label_t trap, label_t leave, const label_t *call)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;
	label_t done = emit_label(e), left = emit_label(e);

	x86_gate(g, G_AX, trap);
	g->out->hijack_at = (uint32_t)e->len;
	emit_rr(e, OP_CMP | OP_W, G_AX, x->regs.base);
	emit_jcc(e, COND_NE, leave);
	look_at_word(g, trap);
	provide_entry(g, trap);
	gen_may_fault(g, trap);
	emit_alu_mem(e, OP_W, ALU_CMP, x86_found_mem(g, offsetof(struct guard_hijack, real)),
		     0);
	emit_jcc(e, COND_NE, left);
	gen_put_aside(g,
		      &(struct gen_aside){ .put = put_left, .at = left, .on = emit_here(e) });
	if (detour_needs_duration(g->plan))
		x->returns->note_entry(g, trap);
	emit_label_address(e, G_AX, back);
	store(g, trap, offsetof(struct guard_hijack, back));
	if (x->returns->chains)
		add_to_chain(g, trap, done);
	/* From here on it is one to come back by. */
	emit_rm(e, OP_LOAD | OP_W, G_AX, stack_word(g));
	store(g, trap, offsetof(struct guard_hijack, real));
	if (call)
		emit_jmp(e, *call);
	else
		replace(g, trap);
	emit_set(e, done);
	g->out->hijack_end = (uint32_t)e->len;
}

/* --- on return ----------------------------------------------------------------------- */

struct emit_mem x86_way_home(const struct gen *g)
{
	return x86_stack(g, -x86_word(g));
}

/*
 * rax = the real address, which was put to where the way home goes by. The entry is one of a
 * chain: the way is to the common code once more, whose address is in rcx; unless the entry is given back by then:
 * then so was the word before, perhaps where this has just been written.
 */
static void put_chain_home(struct gen *g, const struct gen_aside *a)
{
	const int hijack = x86_gen(g)->returns->hijack;
	struct emit *e = &g->e;

	emit_set(e, a->at);
	emit_rm(e, OP_XCHG | OP_W, G_CX, x86_way_home(g));
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(hijack, offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_NE, a->on);
	emit_rm(e, OP_STORE | OP_W, G_AX, x86_way_home(g));
	emit_jmp(e, a->on);
}

/* Over since it was looked up: what was put back into the word. */
static void put_over(struct gen *g, const struct gen_aside *a)
{
	const int hijack = x86_gen(g)->returns->hijack;
	struct emit *e = &g->e;

	emit_set(e, a->at);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(hijack, offsetof(struct guard_hijack, word)));
	if (x86_gen(g)->returns->chains)
		emit_alu(e, OP_W, ALU_AND, G_AX, -x86_word(g));
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_AX, 0));
	emit_rm(e, OP_STORE | OP_W, G_AX, x86_way_home(g));
	emit_jmp(e, a->on);
}

void x86_come_back(struct gen *g, label_t gone)
{
	const int hijack = x86_gen(g)->returns->hijack;
	struct emit_mem real = MEM(hijack, offsetof(struct guard_hijack, real));
	label_t over = emit_label(&g->e), chain = emit_label(&g->e), on = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, real);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, over);
	gen_put_aside(g, &(struct gen_aside){ .put = put_over, .at = over, .on = gone });
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, x86_gen(g)->frame.real));
	emit_rm(e, OP_STORE | OP_W, G_AX, x86_way_home(g));
	if (x86_gen(g)->returns->chains) {
		emit_rm(e, OP_LOAD, G_DX, MEM(hijack, offsetof(struct guard_hijack, word)));
		emit_test(e, 0, G_DX, x86_word(g) - 1);
		emit_jcc(e, COND_NE, chain);
		gen_put_aside(
			g, &(struct gen_aside){ .put = put_chain_home, .at = chain, .on = on });
	}
	emit_set(e, on);
	emit_store_imm(e, OP_W, real, 0);
}

void x86_at_ret(struct gen *g)
{
	const struct x86_gen *x = x86_gen(g);

	emit_rm(&g->e, OP_LOAD | OP_W, G_AX, MEM(G_SP, x->frame.len - x86_word(g)));
	emit_rm(&g->e, OP_STORE | OP_W, G_AX, MEM(G_SP, x->frame.real));
}

/* --- what can't be done ------------------------------------------------------------------ */

static bool is_pop(const struct displaced_insn *insn)
{
	return (insn->len == 1 && (insn->bytes[0] & 0xf8) == 0x58) ||
	       (insn->len == 2 && insn->bytes[0] == 0x41 && (insn->bytes[1] & 0xf8) == 0x58);
}

static bool is_push(const struct displaced_insn *insn)
{
	return (insn->len == 1 && (insn->bytes[0] & 0xf8) == 0x50) ||
	       (insn->len == 2 && insn->bytes[0] == 0x41 && (insn->bytes[1] & 0xf8) == 0x50);
}

bool x86_touches_return(const struct detour_plan *plan,
			bool (*reads)(const uint8_t *code, size_t len))
{
	const struct window *window = plan->window;

	/* What the lead has put on the stack comes off first. */
	if (plan->lead && plan->lead->sp_down)
		return false;
	for (size_t i = 0; i < window->n && !is_push(&window->insns[i]); i++)
		if (is_pop(&window->insns[i]) ||
		    (reads && reads(window->insns[i].bytes, window->insns[i].len)))
			return true;
	return false;
}
