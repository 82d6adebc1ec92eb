/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A place where the tracer has to be there, in a process that it has let go of (detour_plan.asks): the thread rings
 * (ring_head.bell), and waits until it is traced again, the tracer has died, or some 20 to 350 ms have passed. It waits without a system call, for
 * the program may have a filter that allows none.
 */

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "arch/guard.h"
#include "arch/x86/call_kind.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/gen.h"

/*
 * pause takes some 4 to 70 ns. No clock is read, for the program may have forbidden that, too. A tracer that is alive comes in a
 * few milliseconds, where it gets a processor.
 */
#define ROUNDS 5000000

#define CLONE_VM        0x100
#define CLONE_THREAD    0x10000
#define X86_PR_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */
#define NR_CLONE     56
#define NR_FORK      57
#define NR_CLONE3    435

/* To @leave by the @flags of clone() that are in edi, or, @is_deep, in memory at rdi. */
static void test_flags(struct gen *g, bool is_deep, uint32_t flags, enum cond cond, label_t leave)
{
	if (is_deep) {
		gen_may_fault(g, leave);
		emit_rm(&g->e, 0xf7, 0, MEM(G_DI, 0)); /* test */
		emit_u32(&g->e, flags);
	} else {
		emit_test(&g->e, 0, G_DI, (int32_t)flags);
	}
	emit_jcc(&g->e, cond, leave);
}

/*
 * In front of a call that may make a thread, by its number at the window's start: a thread needs no tracer. In rdi are the flags, or a
 * pointer to them, which the C library has looked at.
 */
static void unless_thread(struct gen *g, label_t leave)
{
	const struct displaced_insn *insn = &g->plan->window->insns[0];
	uint32_t number;

	if (insn->len != 5 || insn->bytes[0] != 0xb8) /* mov $number,%eax */
		return;
	memcpy(&number, insn->bytes + 1, sizeof(number));
	if (number == NR_FORK && g->plan->asks_sharing)
		emit_jmp(&g->e, leave);
	if (number != NR_CLONE && number != NR_CLONE3)
		return;
	test_flags(g, number == NR_CLONE3, CLONE_THREAD, COND_NE, leave);
	if (g->plan->asks_sharing)
		test_flags(g, number == NR_CLONE3, CLONE_VM, COND_E, leave);
}

/* Is it one in front of a call that may set a filter for calls of the kernel, or have another one deal with them? */
static bool may_filter(const struct gen *g)
{
	return g->plan->filters;
}

/* To @leave if it is no such call. Then no call is begun by a detour any more. */
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
	emit_alu(e, 0, ALU_CMP, option, X86_PR_DISPATCH);
	emit_jcc(e, COND_NE, leave);
	emit_set(e, sets);
	gen64_inc(g, offsetof(struct ring_head, filters), leave);
}

/* To @then if nobody is in a call of a detour, which a filter could be for. */
static void if_none_reads(struct gen *g, label_t then)
{
	emit_alu_mem(&g->e, OP_W, ALU_CMP, MEM(R_BASE, offsetof(struct ring_head, reading)), 0);
	emit_jcc(&g->e, COND_E, then);
}

/* To @then if the process is traced, by the word gate.alone; else on. */
static void if_traced(struct gen *g, label_t fixup, label_t then)
{
	label_t not_yet = emit_label(&g->e);
	struct emit *e = &g->e;

	gen64_load_word(g, G_AX, offsetof(struct guard_gate, alone), fixup);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	if (!may_filter(g)) {
		emit_jcc(e, COND_E, then);
		return;
	}
	emit_jcc(e, COND_NE, not_yet);
	if_none_reads(g, then);
	emit_set(e, not_yet);
}

static void bell(struct gen *g, label_t traced, label_t leave)
{
	struct emit *e = &g->e;
	label_t again, come = emit_label(e);

	x86_find_base(g, traced, leave);
	if (may_filter(g))
		unless_filter(g, leave);
	if_traced(g, traced, traced);
	if (!g->plan->scans)
		unless_thread(g, leave);
	gen64_inc(g, offsetof(struct ring_head, bell), leave);
	emit_imm(e, G_CX, ROUNDS);
	again = emit_here(e);
	emit_bytes(e, "\xf3\x90", 2); /* pause */
	if_traced(g, leave, come);
	x86_test_owner(g, leave);
	emit_jcc(e, COND_NE, leave);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, again);
	gen64_inc(g, offsetof(struct ring_head, in_vain), leave);
	gen64_inc(g, offsetof(struct ring_head, heard), leave);
	emit_jmp(e, leave);
	/* Nobody lets go of it again before this is told. */
	emit_set(e, come);
	gen64_inc(g, offsetof(struct ring_head, heard), leave);
	emit_jmp(e, traced);
}

const struct gen_bell gen64_bell = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << R_BASE,
	.ring = bell,
};
