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
 *                    below the stack pointer, with which a "ret" goes home
 *
 * A signal handler that interrupts this uses other stack words, and no entry changes its
 * word. Only it can't be told from a frame that a longjmp() left whether the real address of
 * an entry is still wanted: the tracer decides, by the trap.
 *
 * All words of the table have an upper half that is 0.
 */

#include "arch/guard.h"
#include "arch/i386/gen.h"
#include "arch/i386/i386.h"
#include "engine/base/page.h"

#define UD2 "\x0f\x0b"

#define WORD 4

/* Entries that are looked at for a word. */
#define LOOKS UBP_HIJACK_LOOKS

/* Arguments that a callee takes off the stack, when the word itself tells nothing; or when it has
 * been put back. */
#define POPS_MAX          (16 * WORD)
#define PUT_BACK_POPS_MAX (DISTANCE - WORD)

#define ENTRY_SHIFT 5

#define R_WORD G_DX

/* The program's stack, with the frame below it. */
#define STACK(disp) MEM(G_SP, FRAME_ALL + (disp))

/* GEN_HIJACK is an offset in the table at @table ... */
static struct emit_mem entry_mem(uint64_t table, size_t member)
{
	_Static_assert(sizeof(struct guard_hijack) == 1 << ENTRY_SHIFT,
		       "a shift makes offsets");
	return MEM(GEN_HIJACK, (uint32_t)table + member);
}

/* GEN_HIJACK: offset of the first entry to look at for R_WORD. */
static void first_entry(struct emit *e, uint64_t mask)
{
	emit_rr(e, OP_LOAD, GEN_HIJACK, R_WORD);
	emit_shift(e, 0, SHIFT_L, GEN_HIJACK, ENTRY_SHIFT - 3);
	emit_alu(e, 0, ALU_AND, GEN_HIJACK, (int32_t)(mask << ENTRY_SHIFT));
}

static void next_entry(struct emit *e, uint64_t mask)
{
	emit_alu(e, 0, ALU_ADD, GEN_HIJACK, 1 << ENTRY_SHIFT);
	emit_alu(e, 0, ALU_AND, GEN_HIJACK, (int32_t)(mask << ENTRY_SHIFT));
}

/* --- on entry ------------------------------------------------------------------------ */

/* The entry of R_WORD, if there is none a new one; its address. Uses eax, ecx. */
static void provide_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask, table = g->plan->hijacks;
	struct emit_mem word = entry_mem(table, offsetof(struct guard_hijack, word));
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	first_entry(e, mask);
	emit_imm(e, G_CX, LOOKS);
	look = emit_here(e);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD, G_AX, word);
	emit_rr(e, OP_CMP, G_AX, R_WORD);
	emit_jcc(e, COND_E, found);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, next);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMPXCHG | OP_LOCK, R_WORD, word);
	emit_jcc(e, COND_E, found);
	emit_set(e, next);
	next_entry(e, mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, trap);
	emit_set(e, found);
	emit_alu(e, 0, ALU_ADD, GEN_HIJACK, (int32_t)table);
}

static void store(struct gen *g, label_t trap, int reg, size_t member)
{
	gen_may_fault(g, trap);
	emit_rm(&g->e, OP_STORE, reg, MEM(GEN_HIJACK, member));
}

/* To @trap if eax is this already. */
static void refuse(struct gen *g, uint64_t address, label_t trap)
{
	emit_alu(&g->e, 0, ALU_CMP, G_AX, (int32_t)address);
	emit_jcc(&g->e, COND_E, trap);
}

static void hijack(struct gen *g, label_t back, label_t trap, label_t leave)
{
	struct emit *e = &g->e;

	x86_gen(g)->gate(g, G_AX, trap);
	g->out->hijack_at = (uint32_t)e->len;
	emit_rr(e, OP_CMP, G_AX, R_BASE);
	emit_jcc(e, COND_NE, leave);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD, G_AX, STACK(0));
	refuse(g, g->plan->return_vaddr, trap);
	refuse(g, g->plan->trampoline, trap);
	if (g->plan->leaves_kernel_return) {
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_E, trap);
	}
	emit_rm(e, OP_LEA, R_WORD, STACK(0));
	provide_entry(g, trap);
	gen_may_fault(g, trap);
	emit_alu_mem(e, 0, ALU_CMP, MEM(GEN_HIJACK, offsetof(struct guard_hijack, real)), 0);
	emit_jcc(e, COND_NE, trap);
	if (detour_needs_duration(g->plan))
		gen32_note_entry(g, trap);
	emit_label_address(e, G_AX, back);
	store(g, trap, G_AX, offsetof(struct guard_hijack, back));
	/* From here on it is one to come back by. */
	emit_rm(e, OP_LOAD, G_AX, STACK(0));
	store(g, trap, G_AX, offsetof(struct guard_hijack, real));
	gen_may_fault(g, trap);
	emit_store_imm(e, 0, STACK(0), (uint32_t)g->plan->return_vaddr);
	g->out->hijack_end = (uint32_t)e->len;
}

/* --- on return ----------------------------------------------------------------------- */

static void come_back(struct gen *g, label_t gone)
{
	struct emit_mem real = MEM(GEN_HIJACK, offsetof(struct guard_hijack, real));
	label_t live = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_AX, real);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_NE, live);
	/* Over since it was looked up: what was put back into the word. */
	emit_rm(e, OP_LOAD, G_AX, MEM(GEN_HIJACK, offsetof(struct guard_hijack, word)));
	emit_rm(e, OP_LOAD, G_AX, MEM(G_AX, 0));
	emit_rm(e, OP_STORE, G_AX, STACK(-WORD));
	emit_jmp(e, gone);
	emit_set(e, live);
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_REAL));
	emit_rm(e, OP_STORE, G_AX, STACK(-WORD));
	emit_store_imm(e, 0, real, 0);
}

/* --- the common code ------------------------------------------------------------------- */

/* Which words below the stack pointer may be the one that was returned by. */
enum look {
	LOOK_KERNEL, /* the first, if it holds what may be the kernel's, and has an entry in use */
	LOOK_OURS,     /* that holds our address, and has an entry in use */
	LOOK_PUT_BACK, /* that holds what its entry says it was given back */
	LOOK_ANY,      /* that has an entry in use */
};

/* To the return code of an entry. */
static void go_back(struct emit *e)
{
	emit_rm(e, 0xff, 4, MEM(GEN_HIJACK, offsetof(struct guard_hijack, back))); /* jmp */
}

/*
 * If R_WORD has an entry that is in use, on to its return code; if that is over, but is
 * what is looked for, to @home, with the way in eax. Else behind this. Uses eax.
 */
static void look_up(struct emit *e, uint64_t table, uint64_t mask, enum look which,
		    label_t home)
{
	struct emit_mem word = entry_mem(table, offsetof(struct guard_hijack, word));
	struct emit_mem given = MEM(GEN_HIJACK, offsetof(struct guard_hijack, time));
	label_t look, found = emit_label(e), none = emit_label(e), over = emit_label(e);

	_Static_assert((uint32_t)UBP_GIVEN_BACK == 0, "an address is the lower half");
	first_entry(e, mask);
	emit_imm(e, G_AX, LOOKS);
	look = emit_here(e);
	emit_rm(e, OP_CMP, R_WORD, word);
	emit_jcc(e, COND_E, found);
	emit_alu_mem(e, 0, ALU_CMP, word, 0);
	emit_jcc(e, COND_E, none);
	next_entry(e, mask);
	emit_alu(e, 0, ALU_SUB, G_AX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, none);
	emit_set(e, found);
	emit_alu(e, 0, ALU_ADD, GEN_HIJACK, (int32_t)table);
	emit_alu_mem(e, 0, ALU_CMP, MEM(GEN_HIJACK, offsetof(struct guard_hijack, real)), 0);
	if (which == LOOK_PUT_BACK) {
		emit_rm(e, OP_LOAD, G_AX, MEM(R_WORD, 0));
		emit_jcc(e, COND_E, over);
		emit_rm(e, OP_CMP, G_AX, MEM(GEN_HIJACK, offsetof(struct guard_hijack, real)));
		emit_jcc(e, COND_NE, none);
		go_back(e);
		emit_set(e, over);
		emit_alu_mem(e, 0, ALU_CMP, x86_upper(given), (int32_t)(UBP_GIVEN_BACK >> 32));
		emit_jcc(e, COND_NE, none);
		emit_rm(e, OP_CMP, G_AX, given);
		emit_jcc(e, COND_E, home);
	} else {
		emit_jcc(e, COND_E, none);
		go_back(e);
	}
	emit_set(e, none);
}

/*
 * ecx = where this code stands. Processors that predict where a ret leads have one call more than
 * rets then, for the ret that we go home by. It uses the frame's lowest word: what is below
 * that may be no stack. Clobbers eax.
 */
static void find_self(struct emit *e, label_t start)
{
	label_t on = emit_label(e), here;

	_Static_assert(FRAME_AX == 0, "the lowest word");
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_AX));
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, WORD));
	emit_u8(e, 0xe8); /* call, over a byte: one to the next instruction is not counted */
	emit_u32(e, 1);
	here = emit_here(e);
	emit_u8(e, INT3);
	emit_set(e, on);
	emit_u8(e, 0x59); /* pop %ecx */
	emit_rm(e, OP_LEA, G_SP, MEM(G_SP, -WORD));
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_AX));
	emit_alu(e, 0, ALU_SUB, G_CX, (int32_t)(emit_at(e, here) - emit_at(e, start)));
}

/*
 * Words from the one below the stack pointer down: those that hold our address to where our frame
 * ends, or its page; else the first few.
 */
static void look_below(struct emit *e, uint64_t table, uint64_t mask, enum look which,
		       label_t home)
{
	label_t word, next = emit_label(e);

	emit_rm(e, OP_LEA, R_WORD, STACK(-WORD));
	word = emit_here(e);
	if (which == LOOK_OURS) {
		emit_rm(e, OP_CMP, G_CX, MEM(R_WORD, 0));
		emit_jcc(e, COND_NE, next);
	}
	if (which == LOOK_KERNEL) {
		emit_rm(e, OP_LOAD, G_AX, MEM(R_WORD, 0));
		emit_rr(e, OP_TEST, G_AX, G_AX);
		emit_jcc(e, COND_E, next);
		emit_test(e, 0, G_AX, UBP_KERNEL_RETURN_MASK);
		emit_jcc(e, COND_NE, next);
	}
	look_up(e, table, mask, which, home);
	emit_set(e, next);
	if (which == LOOK_KERNEL)
		return;
	emit_alu(e, 0, ALU_SUB, R_WORD, WORD);
	if (which == LOOK_OURS) {
		/* The page that our frame ends in is there; the one below it may be the
		 * stack's guard. */
		emit_rr(e, OP_LOAD, G_AX, G_SP);
		emit_alu(e, 0, ALU_AND, G_AX, -(int32_t)PAGE);
	} else {
		emit_rm(e, OP_LEA, G_AX,
			STACK(-WORD - (which == LOOK_PUT_BACK ? PUT_BACK_POPS_MAX : POPS_MAX)));
	}
	emit_rr(e, OP_CMP, R_WORD, G_AX);
	emit_jcc(e, COND_AE, word);
}

/*
 * The word that was returned by is the one below the stack pointer, or further down
 * if the callee popped arguments: then what is in between is none that holds our address.
 * It need not hold it: a signal's frame may have come to lie there just now, before the frame
 * protected it; and while its handler ran, an unwinder in it, or the tracer at its end, may have
 * put the real address back. If the entry is over, too, what stands in the word now is the way
 * home, or to the tracer's own trampoline.
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
	find_self(e, start);
	look_below(e, hijacks, mask, LOOK_KERNEL, home);
	look_below(e, hijacks, mask, LOOK_OURS, home);
	look_below(e, hijacks, mask, LOOK_PUT_BACK, home);
	look_below(e, hijacks, mask, LOOK_ANY, home);
	emit_rm(e, OP_CMP, G_CX, STACK(-WORD));
	emit_jcc(e, COND_E, lost);
	emit_jmp(e, leave);
	emit_set(e, home);
	emit_rm(e, OP_STORE, G_AX, STACK(-WORD));
	emit_set(e, leave);
	x86_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	emit_u8(e, RET);
	emit_set(e, lost);
	x86_restore(g, GEN_HIJACK_REGS, GEN_TRAP);
	emit_u8(e, INT3);
	emit_bytes(e, UD2, 2);
}

static bool is_pop(const struct displaced_insn *insn)
{
	return insn->len == 1 && (insn->bytes[0] & 0xf8) == 0x58;
}

static bool is_push(const struct displaced_insn *insn)
{
	return insn->len == 1 && (insn->bytes[0] & 0xf8) == 0x50;
}

/*
 * vfork() takes it off: parent and child both return by it, and one entry is for one return.
 * __x86.get_pc_thunk.bx() and its kin return it.
 */
bool gen32_pops_return(const struct detour_plan *plan)
{
	const struct window *window = plan->window;

	/* What the lead has put on the stack comes off first. */
	if (plan->lead && plan->lead->sp_down)
		return false;
	for (size_t i = 0; i < window->n && !is_push(&window->insns[i]); i++)
		if (is_pop(&window->insns[i]) ||
		    i386_gives_return(window->insns[i].bytes, window->insns[i].len))
			return true;
	return false;
}

bool gen32_can_hijack(uint64_t hijacks, uint64_t mask)
{
	return hijacks && hijacks <= UINT32_MAX && mask <= INT32_MAX >> ENTRY_SHIFT;
}

const struct gen_returns gen32_returns = {
	.regs = GEN_HIJACK_REGS,
	.can_hijack = gen32_can_hijack,
	.hijack = hijack,
	.come_back = come_back,
	.duration = gen32_duration,
	.common = put_common,
};
