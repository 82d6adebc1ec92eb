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
 * A signal handler that interrupts this uses other stack words, and no entry changes its
 * word. Only it can't be told from a frame that a longjmp() left whether the real address of
 * an entry is still wanted: the tracer decides, by the trap.
 *
 * In 32 bits all words of the table have an upper half that is 0.
 */

#include "arch/x86/common_detour_return.h"

#include "arch/guard.h"
#include "arch/x86/common_detour.h"
#include "engine/base/page.h"

#define UD2 "\x0f\x0b"

/* Entries that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

struct emit_mem x86_hijack_mem(const struct gen *g, uint64_t table, int at, size_t member)
{
	const int base = x86_gen(g)->returns->table;

	return base == G_NONE ? MEM(at, (uint32_t)table + member) : MEM_X(base, at, 0, member);
}

void x86_hijack_offset(struct gen *g, uint64_t mask, int at)
{
	_Static_assert(sizeof(struct guard_hijack) == 1 << X86_HIJACK_SHIFT,
		       "a shift makes offsets");
	emit_shift(&g->e, OP_W, SHIFT_L, at, X86_HIJACK_SHIFT - 3);
	emit_alu(&g->e, OP_W, ALU_AND, at, (int32_t)(mask << X86_HIJACK_SHIFT));
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

/* Member of an entry, by its offset in the table. */
static struct emit_mem entry_mem(const struct gen *g, uint64_t table, size_t member)
{
	return x86_hijack_mem(g, table, x86_gen(g)->returns->hijack, member);
}

/* ... of one that was found. */
static struct emit_mem found_mem(const struct gen *g, size_t member)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	return r->table == G_NONE ? MEM(r->hijack, member)
				  : MEM_X(r->table, r->hijack, 0, member);
}

/* .hijack: offset of the first entry to look at for .word. */
static void first_entry(struct gen *g, uint64_t mask)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	emit_rr(&g->e, OP_LOAD | OP_W, r->hijack, r->word);
	x86_hijack_offset(g, mask, r->hijack);
}

static void next_entry(struct gen *g, uint64_t mask)
{
	x86_hijack_next(g, mask, x86_gen(g)->returns->hijack);
}

/* One was found: its address, if that is what found_mem() wants. */
static void make_found(struct gen *g, uint64_t table)
{
	const struct x86_returns *r = x86_gen(g)->returns;

	if (r->table == G_NONE)
		emit_alu(&g->e, 0, ALU_ADD, r->hijack, (int32_t)table);
}

/* --- on entry ------------------------------------------------------------------------ */

/* The entry of .word, if there is none a new one. Uses rax, rcx. */
static void provide_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask, table = g->plan->hijacks;
	const struct x86_returns *r = x86_gen(g)->returns;
	struct emit_mem word = entry_mem(g, table, offsetof(struct guard_hijack, word));
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	if (r->table != G_NONE)
		emit_imm(e, r->table, table);
	first_entry(g, mask);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, word);
	emit_rr(e, OP_CMP | OP_W, G_AX, r->word);
	emit_jcc(e, COND_E, found);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, next);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, r->word, word);
	emit_jcc(e, COND_E, found);
	emit_set(e, next);
	next_entry(g, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, trap);
	emit_set(e, found);
	make_found(g, table);
}

/* rax to an entry that was found. */
static void store(struct gen *g, label_t trap, size_t member)
{
	gen_may_fault(g, trap);
	emit_rm(&g->e, OP_STORE | OP_W, G_AX, found_mem(g, member));
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

void x86_hijack(struct gen *g, label_t back, label_t trap, label_t leave)
{
	const struct x86_gen *x = x86_gen(g);
	struct emit *e = &g->e;

	x->gate(g, G_AX, trap);
	g->out->hijack_at = (uint32_t)e->len;
	emit_rr(e, OP_CMP | OP_W, G_AX, x->regs.base);
	emit_jcc(e, COND_NE, leave);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, x86_stack(g, 0));
	refuse(g, g->plan->return_vaddr, trap);
	refuse(g, g->plan->trampoline, trap);
	if (g->plan->leaves_kernel_return) {
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_E, trap);
	}
	emit_rm(e, OP_LEA, x->returns->word, x86_stack(g, 0));
	provide_entry(g, trap);
	gen_may_fault(g, trap);
	emit_alu_mem(e, OP_W, ALU_CMP, found_mem(g, offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_NE, trap);
	if (detour_needs_duration(g->plan))
		x->returns->note_entry(g, trap);
	emit_label_address(e, G_AX, back);
	store(g, trap, offsetof(struct guard_hijack, back));
	/* From here on it is one to come back by. */
	emit_rm(e, OP_LOAD | OP_W, G_AX, stack_word(g));
	store(g, trap, offsetof(struct guard_hijack, real));
	replace(g, trap);
	g->out->hijack_end = (uint32_t)e->len;
}

/* --- on return ----------------------------------------------------------------------- */

/* The word where the way home goes by. */
static struct emit_mem way_home(const struct gen *g)
{
	return x86_stack(g, -x86_word(g));
}

void x86_come_back(struct gen *g, label_t gone)
{
	const int hijack = x86_gen(g)->returns->hijack;
	struct emit_mem real = MEM(hijack, offsetof(struct guard_hijack, real));
	label_t live = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, real);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, live);
	/* Over since it was looked up: what was put back into the word. */
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(hijack, offsetof(struct guard_hijack, word)));
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_AX, 0));
	emit_rm(e, OP_STORE | OP_W, G_AX, way_home(g));
	emit_jmp(e, gone);
	emit_set(e, live);
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, x86_gen(g)->frame.real));
	emit_rm(e, OP_STORE | OP_W, G_AX, way_home(g));
	emit_store_imm(e, OP_W, real, 0);
}

/* --- the common code ------------------------------------------------------------------- */

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
	label_t home;
};

/* To the return code of the entry that was found. */
static void go_back(struct gen *g)
{
	const int hijack = x86_gen(g)->returns->hijack;
	struct emit *e = &g->e;

	if (x86_gen(g)->returns->table != G_NONE)
		emit_rm(e, OP_LEA, hijack, found_mem(g, 0));
	emit_rm(e, 0xff, 4, MEM(hijack, offsetof(struct guard_hijack, back))); /* jmp */
}

/*
 * Behind a comparison of the found entry's .real with 0. It is in use, and the word holds that: on to its
 * return code. It is over, and the word holds what it says was given back: to @home, with the word in
 * rax. Else to @none, or behind this.
 */
static void check_put_back(struct gen *g, label_t home, label_t none)
{
	struct emit_mem given = found_mem(g, offsetof(struct guard_hijack, time));
	struct emit_mem real = found_mem(g, offsetof(struct guard_hijack, real));
	const struct x86_returns *r = x86_gen(g)->returns;
	label_t over = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(r->word, 0));
	emit_jcc(e, COND_E, over);
	emit_rm(e, OP_CMP | OP_W, G_AX, real);
	emit_jcc(e, COND_NE, none);
	go_back(g);
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
	emit_jcc(e, COND_E, home);
}

/*
 * If .word has an entry that is in use, on to its return code; if that is over, but is
 * what is looked for, to .home, with the way in rax. Else behind this. Uses rax.
 */
static void look_up(struct gen *g, const struct table *table, enum look which)
{
	const size_t at_word = offsetof(struct guard_hijack, word);
	struct emit_mem word = entry_mem(g, table->vaddr, at_word);
	struct emit *e = &g->e;
	label_t look, found = emit_label(e), none = emit_label(e);

	first_entry(g, table->mask);
	emit_imm(e, G_AX, LOOKS);
	look = emit_here(e);
	emit_rm(e, OP_CMP | OP_W, x86_gen(g)->returns->word, word);
	emit_jcc(e, COND_E, found);
	emit_alu_mem(e, OP_W, ALU_CMP, word, 0);
	emit_jcc(e, COND_E, none);
	next_entry(g, table->mask);
	emit_alu(e, 0, ALU_SUB, G_AX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, none);
	emit_set(e, found);
	make_found(g, table->vaddr);
	emit_alu_mem(e, OP_W, ALU_CMP, found_mem(g, offsetof(struct guard_hijack, real)), 0);
	if (which == LOOK_PUT_BACK) {
		check_put_back(g, table->home, none);
	} else {
		emit_jcc(e, COND_E, none);
		go_back(g);
	}
	emit_set(e, none);
}

/* To @next if the word can't be one that is looked for. @which is one that asks for what it holds. */
static void check_word(struct gen *g, enum look which, label_t next)
{
	const int word = x86_gen(g)->returns->word;
	struct emit *e = &g->e;

	if (which == LOOK_OURS || which == LOOK_OURS_FIRST) {
		emit_rm(e, OP_CMP | OP_W, G_CX, MEM(word, 0));
		emit_jcc(e, COND_NE, next);
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

	emit_rm(e, OP_LEA, r->word, way_home(g));
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
	struct table table = { hijacks, mask, emit_label(e) };

	(void)trampoline; /* the word that was returned by leads there itself */
	x86_begin(g, regs);
	if (r->table != G_NONE)
		emit_imm(e, r->table, hijacks);
	r->find_self(g, start);
	look_below(g, &table, LOOK_OURS_FIRST);
	look_below(g, &table, LOOK_KERNEL);
	look_below(g, &table, LOOK_OURS);
	look_below(g, &table, LOOK_PUT_BACK);
	look_below(g, &table, LOOK_ANY);
	emit_rm(e, OP_CMP | OP_W, G_CX, way_home(g));
	emit_jcc(e, COND_E, lost);
	emit_jmp(e, leave);
	emit_set(e, table.home);
	emit_rm(e, OP_STORE | OP_W, G_AX, way_home(g));
	emit_set(e, leave);
	x86_restore(g, regs, GEN_RETURN);
	g->isa->go_home(e);
	emit_set(e, lost);
	x86_restore(g, regs, GEN_TRAP);
	emit_u8(e, INT3);
	emit_bytes(e, UD2, 2);
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
