/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes: the return address, which is in the link register when a function is entered,
 * is replaced by that of the common return code; what it was is kept in a table of the
 * process (struct guard_hijack), by the stack pointer, which is on return what it was on entry.
 *
 *   entry            the stack pointer's entry in the table, new or its own from before:
 *                    where the return code is, the real address; then the link register
 *   common code      the entry of the stack pointer, its return code
 *   return code      the real address from the entry, which is free again, to the link
 *                    register, by which the way home goes
 *
 * A signal handler that interrupts this has a stack pointer below ours, and no entry changes its
 * own. A function that keeps its return address in a register may call another with the same
 * stack pointer: an entry that is in use then is for the tracer, as is one that a longjmp() left.
 *
 * The common code and the return code keep all but x16, x17 and x30: a caller may know what
 * its callee leaves alone.
 */

#include "arch/arm64/decode.h"
#include "arch/arm64/gen.h"
#include "arch/guard_hijack.h"
#include "arch/insn_word.h"

/* Entries that are looked at for a stack pointer. */
#define LOOKS UBP_HIJACK_LOOKS

#define ENTRY_SHIFT 5

/* Return addresses with a bit above these are signed, or nonsense. */
#define VADDR_BITS 48

#define NR_CLONE  220
#define NR_CLONE3 435

#define R_TABLE R_ADDRESS
#define R_WORD  R_THREAD
#define R_INDEX R_A
#define R_LOOKS R_B

static struct emit_mem entry_mem(size_t member)
{
	return MEM(GEN_HIJACK, (int64_t)member);
}

/* R_WORD, @up from the frame, R_TABLE; R_INDEX: the first entry to look at. */
static void first_entry(struct emit *e, int64_t up, uint64_t hijacks, uint64_t mask)
{
	a64_add(e, R_WORD, G_SP, up);
	a64_imm(e, R_TABLE, hijacks);
	/* UBP_HIJACK_INDEX() */
	a64_lsr(e, OP_X, R_INDEX, R_WORD, UBP_HIJACK_DRIFT);
	a64_op(e, OP_ADD | OP_X | op_lsl(3), R_INDEX, R_WORD, R_INDEX);
	a64_lsr(e, OP_X, R_INDEX, R_INDEX, 2);
	a64_logic(e, OP_AND | OP_X, R_INDEX, R_INDEX, mask & ~1ULL);
	a64_imm(e, R_LOOKS, LOOKS);
}

/* GEN_HIJACK: the entry R_INDEX. */
static void entry_address(struct emit *e)
{
	_Static_assert(sizeof(struct guard_hijack) == 1 << ENTRY_SHIFT,
		       "a shift makes offsets");
	a64_op(e, OP_ADD | OP_X | op_lsl(ENTRY_SHIFT), GEN_HIJACK, R_TABLE, R_INDEX);
}

/* To @look, or on when there have been enough of them. */
static void next_entry(struct emit *e, uint64_t mask, label_t look)
{
	a64_add(e, R_INDEX, R_INDEX, 1);
	a64_logic(e, OP_AND | OP_X, R_INDEX, R_INDEX, mask);
	a64_subs(e, R_LOOKS, R_LOOKS, 1);
	a64_bcond(e, COND_NE, look);
}

/* --- on entry ------------------------------------------------------------------------ */

static int64_t lead_down(const struct gen *g)
{
	return g->plan->lead ? (int64_t)g->plan->lead->sp_down : 0;
}

/* The entry of the stack pointer, if there is none a new one: GEN_HIJACK. */
static void provide_entry(struct gen *g, label_t trap)
{
	uint64_t mask = g->plan->hijacks_mask;
	struct emit *e = &g->e;
	label_t look, again, next = emit_label(e), found = emit_label(e);

	_Static_assert(offsetof(struct guard_hijack, word) == 0, "at the entry");
	first_entry(e, FRAME_ALL + lead_down(g), g->plan->hijacks, mask);
	look = emit_here(e);
	entry_address(e);
	again = emit_here(e);
	gen_may_fault(g, trap);
	a64_ldxr(e, R_C, GEN_HIJACK);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_C, R_WORD);
	a64_bcond(e, COND_EQ, found);
	a64_cbnz(e, OP_X, R_C, next);
	gen_may_fault(g, trap);
	a64_stxr(e, R_C, R_WORD, GEN_HIJACK);
	a64_cbnz(e, 0, R_C, again);
	a64_b(e, found);
	emit_set(e, next);
	next_entry(e, mask, look);
	a64_b(e, trap);
	emit_set(e, found);
}

/* To @trap if this was done to the return address already. */
static void refuse(struct gen *g, uint64_t address, label_t trap)
{
	struct emit *e = &g->e;

	a64_address(e, R_A, address);
	a64_op(e, OP_SUBS | OP_X, G_ZR, G_LINK, R_A);
	a64_bcond(e, COND_EQ, trap);
}

static void hijack(struct gen *g, label_t back, label_t trap, label_t leave,
		   const label_t *call)
{
	struct emit *e = &g->e;

	(void)call; /* the link register is replaced */
	make_gate(g, R_A, trap);
	g->out->hijack_at = (uint32_t)e->len;
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_BASE);
	a64_bcond(e, COND_NE, leave);
	refuse(g, g->plan->return_vaddr, trap);
	refuse(g, g->plan->trampoline, trap);
	if (g->plan->leaves_kernel_return) {
		a64_logic(e, OP_ANDS, G_ZR, G_LINK, UBP_KERNEL_RETURN_MASK);
		a64_bcond(e, COND_EQ, trap);
	}
	a64_lsr(e, OP_X, R_A, G_LINK, VADDR_BITS);
	a64_cbnz(e, OP_X, R_A, trap);
	provide_entry(g, trap);
	gen_may_fault(g, trap);
	a64_ldst(e, OP_LDR64, R_A, entry_mem(offsetof(struct guard_hijack, real)));
	a64_cbnz(e, OP_X, R_A, trap);
	if (detour_needs_duration(g->plan))
		make_note_entry(g, trap);
	a64_adr(e, R_A, back);
	gen_may_fault(g, trap);
	a64_ldst(e, OP_STR64, R_A, entry_mem(offsetof(struct guard_hijack, back)));
	a64_address(e, R_A, g->plan->return_vaddr);
	a64_add(e, R_B, GEN_HIJACK, offsetof(struct guard_hijack, real));
	/* From here on it is one to come back by. */
	gen_may_fault(g, trap);
	a64_stlr(e, OP_X, G_LINK, R_B);
	a64_mov(e, G_LINK, R_A);
	g->out->hijack_end = (uint32_t)e->len;
}

/* --- on return ----------------------------------------------------------------------- */

static void come_back(struct gen *g, label_t gone_to)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_A, entry_mem(offsetof(struct guard_hijack, real)));
	a64_cbz(e, OP_X, R_A, gone_to);
	a64_ldst(e, OP_STR64, R_A, MEM(G_SP, FRAME_REAL));
	a64_mov(e, G_LINK, R_A);
	a64_ldst(e, OP_STR64, G_ZR, entry_mem(offsetof(struct guard_hijack, real)));
}

/*
 * The entry was over when the return code came to it: it is the tracer's by now, who has a
 * breakpoint for those who return. What is free to use at a return is used.
 */
static void gone(struct gen *g)
{
	make_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	a64_address(&g->e, R_A, g->plan->trampoline);
	a64_br(&g->e, R_A);
}

/* --- the common code ------------------------------------------------------------------- */

/* If the stack pointer has an entry that is in use, on to its return code. Else the tracer has taken
 * it over: its breakpoint for those who return finds the way. */
static void put_common(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline)
{
	struct emit *e = &g->e;
	label_t look, found = emit_label(e), none = emit_label(e);

	make_begin(g, GEN_HIJACK_REGS);
	first_entry(e, FRAME_ALL, hijacks, mask);
	look = emit_here(e);
	entry_address(e);
	a64_ldst(e, OP_LDR64, R_C, entry_mem(offsetof(struct guard_hijack, word)));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_C, R_WORD);
	a64_bcond(e, COND_EQ, found);
	a64_cbz(e, OP_X, R_C, none);
	next_entry(e, mask, look);
	a64_b(e, none);
	emit_set(e, found);
	a64_ldst(e, OP_LDR64, R_C, entry_mem(offsetof(struct guard_hijack, real)));
	a64_cbz(e, OP_X, R_C, none);
	a64_ldst(e, OP_LDR64, R_C, entry_mem(offsetof(struct guard_hijack, back)));
	a64_br(e, R_C);
	emit_set(e, none);
	make_restore(g, GEN_HIJACK_REGS, GEN_RETURN);
	a64_imm(e, R_A, trampoline);
	a64_br(e, R_A);
}

/* Is it vfork(), or clone(), that may be one? Both return by it, and one entry is for one return. */
bool make_returns_twice(const struct detour_plan *plan)
{
	const uint32_t to_x8 = 0x52800008; /* movz w8, #; bit 31: x8 */

	for (size_t at = 0; at + ARM64_INSN <= plan->code.len; at += ARM64_INSN) {
		uint32_t word = insn_word(plan->code.bytes + at);

		if (word == INSN_RET)
			return false;
		word &= ~OP_X;
		if (word == (to_x8 | NR_CLONE << 5) || word == (to_x8 | NR_CLONE3 << 5))
			return true;
	}
	return false;
}

static bool can_hijack(uint64_t hijacks, uint64_t mask)
{
	return hijacks && mask && mask <= INT32_MAX && (mask & (mask + 1)) == 0;
}

const struct gen_returns make_returns = {
	.regs = GEN_HIJACK_REGS,
	.can_hijack = can_hijack,
	.hijack = hijack,
	.come_back = come_back,
	.duration = make_duration,
	.gone = gone,
	.common = put_common,
};
