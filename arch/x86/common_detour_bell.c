/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * For both widths: a place where the tracer has to be there, in a process that it has let go of (detour_plan.asks): the thread rings
 * (ring_head.bell), and waits until it is traced again, the tracer has died, or some 20 to 350 ms have passed; with tally_place.asks_when_full
 * some seconds, but never again where one has waited in vain: a tracer that is stopped must not stop the program. It waits without a system call,
 * for the program may have a filter that allows none.
 */

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "arch/guard.h"
#include "arch/x86/call_kind.h"
#include "arch/x86/common_detour.h"

/* Counting goes on when the tracer has come, which may have to wait for a processor. */
#define FULL_ROUNDS (8 * X86_WAIT_ROUNDS)

#define CLONE_VM        0x100
#define CLONE_THREAD    0x10000
#define X86_PR_TSC      26 /* PR_SET_TSC */
#define X86_PR_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */

/* To @leave by the @flags of clone() that are in the register, or, @is_deep, in memory at it. */
static void test_flags(struct gen *g, bool is_deep, uint32_t flags, enum cond cond,
		       label_t leave)
{
	const int reg = x86_gen(g)->calls.flags;

	if (is_deep) {
		gen_may_fault(g, leave);
		emit_rm(&g->e, 0xf7, 0, MEM(reg, 0)); /* test */
		emit_u32(&g->e, flags);
	} else {
		emit_test(&g->e, 0, reg, (int32_t)flags);
	}
	emit_jcc(&g->e, cond, leave);
}

/*
 * In front of a call that may make a thread, by its number at the window's start: a thread needs no tracer. In a register are the flags, or
 * a pointer to them, which the C library has looked at.
 */
static void unless_thread(struct gen *g, label_t leave)
{
	const struct displaced_insn *insn = &g->plan->window->insns[0];
	const struct x86_calls *calls = &x86_gen(g)->calls;
	uint32_t number;

	if (insn->len != 5 || insn->bytes[0] != 0xb8) /* mov $number,%eax */
		return;
	memcpy(&number, insn->bytes + 1, sizeof(number));
	if (number == calls->fork && g->plan->asks_sharing)
		emit_jmp(&g->e, leave);
	if (number != calls->clone && number != calls->clone3)
		return;
	test_flags(g, number == calls->clone3, CLONE_THREAD, COND_NE, leave);
	if (g->plan->asks_sharing)
		test_flags(g, number == calls->clone3, CLONE_VM, COND_E, leave);
}

/* 0, or not, by the flags; or to @fixup. Clobbers rax. */
static void test_alone(struct gen *g, label_t fixup)
{
	x86_gen(g)->gate_word(g, G_AX, offsetof(struct guard_gate, alone), fixup);
	emit_rr(&g->e, OP_TEST | OP_W, G_AX, G_AX);
}

/*
 * In front of a call that may set a filter for calls of the kernel, or have another one deal with them (detour_plan.filters, in 64 bits
 * alone): to @leave if it is no such call. Then no call is begun by a detour any more.
 */
static void unless_filter(struct gen *g, label_t leave)
{
	const struct displaced_insn *insn = &g->plan->window->insns[0];
	label_t sets = emit_label(&g->e);
	struct emit *e = &g->e;
	int option = G_DI;

	if (insn->bytes[0] != 0xb8) { /* syscall() */
		option = G_SI;
		emit_alu(e, 0, ALU_CMP, G_DI, X86_NR_SECCOMP);
		emit_jcc(e, COND_E, sets);
		emit_alu(e, 0, ALU_CMP, G_DI, X86_NR_PRCTL);
		emit_jcc(e, COND_NE, leave);
	}
	emit_alu(e, 0, ALU_CMP, option, PR_SET_SECCOMP);
	emit_jcc(e, COND_E, sets);
	emit_alu(e, 0, ALU_CMP, option, X86_PR_TSC);
	emit_jcc(e, COND_E, sets);
	emit_alu(e, 0, ALU_CMP, option, X86_PR_DISPATCH);
	emit_jcc(e, COND_NE, leave);
	emit_set(e, sets);
	x86_count_in_head(g, offsetof(struct ring_head, filters), leave);
}

/* To @then if the process is traced, by the word gate.alone, and nobody is in a call of a detour that a filter could be for; else on. */
static void if_traced(struct gen *g, bool is_full, label_t fixup, label_t then)
{
	label_t not_yet = emit_label(&g->e);
	struct emit *e = &g->e;

	test_alone(g, fixup);
	if (!g->plan->filters || is_full) {
		emit_jcc(e, COND_E, then);
		return;
	}
	emit_jcc(e, COND_NE, not_yet);
	emit_alu_mem(e, OP_W, ALU_CMP,
		     MEM(x86_gen(g)->regs.base, offsetof(struct ring_head, reading)), 0);
	emit_jcc(e, COND_E, then);
	emit_set(e, not_yet);
}

/* To @refused if the tracer has said that it cannot come (UBP_ALONE_REFUSED) since rdx was taken. rax: the word gate.alone. */
static void if_refused(struct gen *g, label_t refused)
{
	label_t on = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_alu(e, OP_W, ALU_CMP, G_AX, UBP_ALONE_REFUSED);
	emit_jcc(e, COND_B, on);
	emit_rr(e, OP_CMP | OP_W, G_AX, G_DX);
	emit_jcc(e, COND_NE, refused);
	emit_set(e, on);
}

void x86_bell(struct gen *g, bool is_full, label_t traced, label_t leave)
{
	struct emit *e = &g->e;
	label_t again, come = emit_label(e), in_vain = emit_label(e);

	x86_find_base(g, traced, leave);
	if (g->plan->filters && !is_full)
		unless_filter(g, leave);
	if_traced(g, is_full, traced, traced);
	emit_rr(e, OP_LOAD | OP_W, G_DX, G_AX);
	if (is_full) {
		emit_alu_mem(e, 0, ALU_CMP,
			     MEM(x86_gen(g)->regs.base, offsetof(struct ring_head, in_vain)),
			     0);
		emit_jcc(e, COND_NE, leave);
	}
	if (!g->plan->scans && !is_full)
		unless_thread(g, leave);
	x86_count_in_head(g, offsetof(struct ring_head, bell), leave);
	emit_imm(e, G_CX, is_full ? FULL_ROUNDS : X86_WAIT_ROUNDS);
	again = emit_here(e);
	emit_bytes(e, "\xf3\x90", 2); /* pause */
	if_traced(g, is_full, leave, come);
	if_refused(g, in_vain);
	x86_test_owner(g, leave);
	emit_jcc(e, COND_NE, leave);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, again);
	emit_set(e, in_vain);
	x86_count_in_head(g, offsetof(struct ring_head, in_vain), leave);
	x86_count_in_head(g, offsetof(struct ring_head, heard), leave);
	emit_jmp(e, leave);
	/* Nobody lets go of it again before this is told. */
	emit_set(e, come);
	x86_count_in_head(g, offsetof(struct ring_head, heard), leave);
	emit_jmp(e, traced);
}
