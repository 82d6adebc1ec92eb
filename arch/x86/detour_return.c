/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes: the return address is replaced by that of the common return code; what
 * stood there is kept in a table of the process (struct guard_hijack), by the address of
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
 */

#include "arch/guard.h"
#include "arch/x86/gen.h"
#include "engine/base/page.h"

#define UD2 "\x0f\x0b"

/* Entries that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

#define ENTRY_SHIFT 5

#define R_TABLE G_DX
#define R_WORD  G_SI

/* The program's stack, with the frame below it. */
#define STACK(disp) MEM(G_SP, FRAME_ALL + (disp))

static struct emit_mem entry_mem(size_t member)
{
	_Static_assert(sizeof(struct guard_hijack) == 1 << ENTRY_SHIFT,
		       "a shift makes offsets");
	return MEM_X(R_TABLE, GEN_HIJACK, 0, member);
}

/* GEN_HIJACK: offset of the first entry to look at for R_WORD. */
static void first_entry(struct emit *e, uint64_t mask)
{
	emit_rr(e, OP_LOAD | OP_W, GEN_HIJACK, R_WORD);
	emit_shift(e, OP_W, SHIFT_L, GEN_HIJACK, ENTRY_SHIFT - 3);
	emit_alu(e, OP_W, ALU_AND, GEN_HIJACK, (int32_t)(mask << ENTRY_SHIFT));
}

static void next_entry(struct emit *e, uint64_t mask)
{
	emit_alu(e, OP_W, ALU_ADD, GEN_HIJACK, 1 << ENTRY_SHIFT);
	emit_alu(e, OP_W, ALU_AND, GEN_HIJACK, (int32_t)(mask << ENTRY_SHIFT));
}

/* --- on entry ------------------------------------------------------------------------ */

/* The entry of R_WORD, if there is none a new one. Uses rax. */
static void provide_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask;
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	emit_imm(e, R_TABLE, g->plan->hijacks);
	first_entry(e, mask);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, entry_mem(offsetof(struct guard_hijack, word)));
	emit_rr(e, OP_CMP | OP_W, G_AX, R_WORD);
	emit_jcc(e, COND_E, found);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, next);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, R_WORD,
		entry_mem(offsetof(struct guard_hijack, word)));
	emit_jcc(e, COND_E, found);
	emit_set(e, next);
	next_entry(e, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, trap);
	emit_set(e, found);
}

static void store(struct gen *g, label_t trap, int reg, size_t member)
{
	gen_may_fault(g, trap);
	emit_rm(&g->e, OP_STORE | OP_W, reg, entry_mem(member));
}

/* To @trap if the word holds this already. */
static void refuse(struct gen *g, uint64_t address, label_t trap)
{
	struct emit *e = &g->e;

	emit_address(e, G_CX, address);
	emit_rr(e, OP_CMP | OP_W, G_AX, G_CX);
	emit_jcc(e, COND_E, trap);
}

static void hijack(struct gen *g, label_t back, label_t trap, label_t leave)
{
	struct emit *e = &g->e;

	x86_gen(g)->gate(g, G_AX, trap);
	g->out->hijack_at = (uint32_t)e->len;
	emit_rr(e, OP_CMP | OP_W, G_AX, R_BASE);
	emit_jcc(e, COND_NE, leave);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, G_AX, STACK(0));
	refuse(g, g->plan->return_vaddr, trap);
	refuse(g, g->plan->trampoline, trap);
	if (g->plan->leaves_kernel_return) {
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_E, trap);
	}
	emit_rm(e, OP_LEA, R_WORD, STACK(0));
	provide_entry(g, trap);
	gen_may_fault(g, trap);
	emit_alu_mem(e, OP_W, ALU_CMP, entry_mem(offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_NE, trap);
	if (detour_needs_duration(g->plan))
		gen64_note_entry(g, trap);
	emit_rm(e, OP_LEA, G_AX, MEM_LABEL(back));
	store(g, trap, G_AX, offsetof(struct guard_hijack, back));
	/* From here on it is one to come back by. */
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(R_WORD, 0));
	store(g, trap, G_AX, offsetof(struct guard_hijack, real));
	emit_address(e, G_AX, g->plan->return_vaddr);
	gen_may_fault(g, trap);
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(R_WORD, 0));
	g->out->hijack_end = (uint32_t)e->len;
}

/* --- on return ----------------------------------------------------------------------- */

static void come_back(struct gen *g, label_t gone)
{
	label_t live = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(GEN_HIJACK, offsetof(struct guard_hijack, real)));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NE, live);
	/* Over since it was looked up: what was put back into the word. */
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(GEN_HIJACK, offsetof(struct guard_hijack, word)));
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_AX, 0));
	emit_rm(e, OP_STORE | OP_W, G_AX, STACK(-8));
	emit_jmp(e, gone);
	emit_set(e, live);
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, FRAME_REAL));
	emit_rm(e, OP_STORE | OP_W, G_AX, STACK(-8));
	emit_store_imm(e, OP_W, MEM(GEN_HIJACK, offsetof(struct guard_hijack, real)), 0);
}

/* --- the common code ------------------------------------------------------------------- */

/* Which words below the stack pointer may be the one that was returned by. */
enum look {
	LOOK_KERNEL, /* the first, if it holds what may be the kernel's, and has an entry in use */
	LOOK_OURS,     /* that holds our address, and has an entry in use */
	LOOK_PUT_BACK, /* that holds what its entry says it was given back */
	LOOK_FIRST,    /* the first, if it has an entry in use */
};

/* To the return code of an entry. */
static void go_back(struct emit *e)
{
	emit_rm(e, OP_LEA, GEN_HIJACK, entry_mem(0));
	emit_rm(e, 0xff, 4, MEM(GEN_HIJACK, offsetof(struct guard_hijack, back))); /* jmp */
}

/*
 * If R_WORD has an entry that is in use, on to its return code; if that is over, but is
 * what is looked for, to @home, with the way in rax. Else behind this. Uses rax.
 */
static void look_up(struct emit *e, uint64_t mask, enum look which, label_t home)
{
	label_t look, found = emit_label(e), none = emit_label(e), over = emit_label(e);

	first_entry(e, mask);
	emit_imm(e, G_AX, LOOKS);
	look = emit_here(e);
	emit_rm(e, OP_CMP | OP_W, R_WORD, entry_mem(offsetof(struct guard_hijack, word)));
	emit_jcc(e, COND_E, found);
	emit_alu_mem(e, OP_W, ALU_CMP, entry_mem(offsetof(struct guard_hijack, word)), 0);
	emit_jcc(e, COND_E, none);
	next_entry(e, mask);
	emit_alu(e, 0, ALU_SUB, G_AX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, none);
	emit_set(e, found);
	emit_alu_mem(e, OP_W, ALU_CMP, entry_mem(offsetof(struct guard_hijack, real)), 0);
	if (which == LOOK_PUT_BACK) {
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(R_WORD, 0));
		emit_jcc(e, COND_E, over);
		emit_rm(e, OP_CMP | OP_W, G_AX, entry_mem(offsetof(struct guard_hijack, real)));
		emit_jcc(e, COND_NE, none);
		go_back(e);
		emit_set(e, over);
		emit_imm(e, G_AX, UBP_GIVEN_BACK);
		emit_rm(e, OP_XOR | OP_W, G_AX, entry_mem(offsetof(struct guard_hijack, time)));
		emit_rm(e, OP_CMP | OP_W, G_AX, MEM(R_WORD, 0));
		emit_jcc(e, COND_E, home);
	} else {
		emit_jcc(e, COND_E, none);
		go_back(e);
	}
	emit_set(e, none);
}

/* Words from the one below the stack pointer down to where our frame ends, or its page; those that
 * were put back in the red zone alone. */
static void look_below(struct emit *e, uint64_t mask, enum look which, label_t home)
{
	label_t word, next = emit_label(e);

	emit_rm(e, OP_LEA, R_WORD, STACK(-8));
	word = emit_here(e);
	if (which == LOOK_OURS) {
		emit_rm(e, OP_CMP | OP_W, G_CX, MEM(R_WORD, 0));
		emit_jcc(e, COND_NE, next);
	}
	if (which == LOOK_KERNEL) {
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(R_WORD, 0));
		emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
		emit_jcc(e, COND_E, next);
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_NE, next);
	}
	look_up(e, mask, which, home);
	emit_set(e, next);
	if (which == LOOK_FIRST || which == LOOK_KERNEL)
		return;
	emit_alu(e, OP_W, ALU_SUB, R_WORD, 8);
	if (which == LOOK_OURS) {
		/* The page that our frame ends in is there; the one below it may be the
		 * stack's guard. */
		emit_rm(e, OP_LEA, G_AX, MEM(G_SP, 0));
		emit_alu(e, OP_W, ALU_AND, G_AX, -(int32_t)PAGE);
	} else {
		emit_rm(e, OP_LEA, G_AX, STACK(-RED_ZONE));
	}
	emit_rr(e, OP_CMP | OP_W, R_WORD, G_AX);
	emit_jcc(e, COND_AE, word);
}

/*
 * The word that was returned by is the one below the stack pointer, or further down
 * if the callee popped arguments: then what is in between is none that holds our address.
 * It need not hold it: while a signal handler ran here, an unwinder in it, or the tracer at its
 * end, may have put the real address back. If the entry is over, too, what stands in the word now
 * is the way home, or to the tracer's own trampoline.
 * A function that was entered by a jump from ours, with a uretprobe on it, came here from the kernel,
 * whose address may stand in the word: that is looked for before all others.
 */
static void put_common(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline)
{
	struct emit *e = &g->e;
	label_t start = emit_here(e), lost = emit_label(e), home = emit_label(e);
	label_t leave = emit_label(e);

	(void)trampoline; /* the word that was returned by leads there itself */
	x86_begin(g, GEN_HIJACK_REGS);
	emit_imm(e, R_TABLE, hijacks);
	emit_rm(e, OP_LEA, G_CX, MEM_LABEL(start));
	look_below(e, mask, LOOK_KERNEL, home);
	look_below(e, mask, LOOK_OURS, home);
	look_below(e, mask, LOOK_PUT_BACK, home);
	look_below(e, mask, LOOK_FIRST, home);
	emit_rm(e, OP_CMP | OP_W, G_CX, STACK(-8));
	emit_jcc(e, COND_E, lost);
	emit_jmp(e, leave);
	emit_set(e, home);
	emit_rm(e, OP_STORE | OP_W, G_AX, STACK(-8));
	emit_set(e, leave);
	x86_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	emit_rm(e, 0xff, 4, MEM(G_SP, -8)); /* jmp */
	emit_set(e, lost);
	x86_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	emit_u8(e, INT3);
	emit_bytes(e, UD2, 2);
}

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

/* vfork() does: parent and child both return by it, and one entry is for one return. */
bool gen64_pops_return(const struct detour_plan *plan)
{
	const struct window *window = plan->window;

	/* What the lead has put on the stack comes off first. */
	if (plan->lead && plan->lead->sp_down)
		return false;
	for (size_t i = 0; i < window->n && !is_push(&window->insns[i]); i++)
		if (is_pop(&window->insns[i]))
			return true;
	return false;
}

bool gen64_can_hijack(uint64_t hijacks, uint64_t mask)
{
	return hijacks && mask <= INT32_MAX >> ENTRY_SHIFT;
}

const struct gen_returns gen64_returns = {
	.regs = GEN_HIJACK_REGS,
	.can_hijack = gen64_can_hijack,
	.hijack = hijack,
	.come_back = come_back,
	.duration = gen64_duration,
	.common = put_common,
};
