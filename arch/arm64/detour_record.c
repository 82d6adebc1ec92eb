/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record (engine/base/ring.h): the thread and its ring, room in it, the head, and the end:
 * committed, shortened, or given back.
 *
 * Order. The reader runs on another processor: .commit is written with release, behind all
 * of the record. What is written goes into room that .limit gave, and no store is made before the
 * branch that depends on it. An entry of the table is filled in while its thread is
 * stopped, so plain loads see all of it; a load-acquire would have to wait for the release of
 * the record before.
 */

#include <stddef.h>

#include "arch/arm64/gen.h"

static struct emit_mem thread_mem(size_t member)
{
	return MEM(R_THREAD, member);
}

static struct emit_mem record_mem(size_t member)
{
	return MEM(R_RECORD, member);
}

/* Clobbers R_A. */
static void unless_off(struct gen *g, uint32_t number, label_t off)
{
	struct emit *e = &g->e;
	struct emit_mem mem = a64_reach(
		e, OP_LDR8, MEM(R_BASE, (int64_t)offsetof(struct ring_head, off) + number / 8));

	gen_may_fault(g, g->fail);
	a64_ldst(e, OP_LDR8, R_A, mem);
	a64_logic(e, OP_ANDS, G_ZR, R_A, 1u << number % 8);
	a64_bcond(e, COND_NE, off);
}

/* @reg = the address of its .head */
static void head_address(struct emit *e, int reg)
{
	a64_add(e, reg, R_THREAD, offsetof(struct ring_thread, head));
}

/*
 * R_THREAD, or gen.fail: also where no word is known that tells the processor. There is no
 * instruction that does, and the tracer can ask.
 */
static void find_thread(struct gen *g)
{
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);

	_Static_assert(sizeof(struct ring_thread) == 64, "a shift makes offsets");
	a64_insn(e, OP_GET_TP | R_A);
	a64_add(e, R_A, R_A, 1);
	a64_imm(e, R_C, RING_HASH_MUL);
	a64_op(e, OP_MUL | OP_X, R_C, R_A, R_C);
	a64_lsr(e, OP_X, R_C, R_C, RING_HASH_SHIFT);
	a64_add(e, R_B, R_BASE, RING_TABLE_AT);
	look = emit_here(e);
	a64_op(e, OP_ADD | OP_X | op_lsl(6), R_THREAD, R_B, R_C);
	gen_may_fault(g, g->fail);
	a64_ldst(e, OP_LDR64, R_RECORD, thread_mem(offsetof(struct ring_thread, key)));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_RECORD, R_A);
	a64_bcond(e, COND_EQ, found);
	emit_set(e, next);
	_Static_assert(RING_KEY_NONE == 0, "a branch tells");
	a64_cbz(e, OP_X, R_RECORD, g->fail);
	a64_add(e, R_C, R_C, 1);
	a64_logic(e, OP_AND | OP_X, R_C, R_C, RING_THREADS - 1);
	a64_b(e, look);
	emit_set(e, found);
	a64_ldst(e, OP_LDR64, R_B, thread_mem(offsetof(struct ring_thread, cpu_vaddr)));
	a64_cbz(e, OP_X, R_B, g->fail);
}

/* @max bytes: R_RECORD and the frame's position; or to @full. */
static void reserve(struct gen *g, uint32_t max, label_t full)
{
	struct emit *e = &g->e;
	label_t again;

	a64_ldst(e, OP_LDR64, R_B, thread_mem(offsetof(struct ring_thread, limit)));
	head_address(e, R_C);
	again = emit_here(e);
	a64_ldxr(e, R_RECORD, R_C);
	a64_add(e, R_A, R_RECORD, max);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_B);
	a64_bcond(e, COND_HI, full);
	a64_stxr(e, R_ADDRESS, R_A, R_C);
	a64_cbnz(e, 0, R_ADDRESS, again);
	a64_ldst(e, OP_STR64, R_RECORD, MEM(G_SP, FRAME_POS));
	a64_ldst(e, OP_LDR64, R_A, thread_mem(offsetof(struct ring_thread, mask)));
	a64_op(e, OP_AND | OP_X, R_RECORD, R_RECORD, R_A);
	a64_ldst(e, OP_LDR64, R_A, thread_mem(offsetof(struct ring_thread, ring)));
	a64_op(e, OP_ADD | OP_X, R_RECORD, R_RECORD, R_A);
}

/*
 * The time without isb, which would cost more than all the rest: so it may be that of some
 * instructions earlier, by the length of the processor's queue, as the time stamp counter of
 * x86-64 is without a fence; a tick is about as long. In a ring time goes forwards, for its reader
 * sees to that. The counter may be forbidden by prctl(PR_SET_TSC), or not be there for programs.
 */
static void note_clock(struct gen *g)
{
	struct emit *e = &g->e;

	gen_may_fault(g, g->fail);
	a64_insn(e, OP_GET_TIME | R_A);
	a64_ldst(e, OP_STR64, R_A, record_mem(offsetof(struct ring_record, time)));
	a64_ldst(e, OP_LDR64, R_B, thread_mem(offsetof(struct ring_thread, cpu_vaddr)));
	gen_may_fault(g, g->fail);
	a64_ldst(e, OP_LDR32, R_B, MEM(R_B, 0));
	/* Negative: the program has taken its registration back. */
	a64_cmp(e, 0, R_B, 0);
	a64_bcond(e, COND_MI, g->fail);
}

/* All of the head that is known before the data. */
static void record_head(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	uint32_t len = program->fixed_size | (g->plan->frames ? RING_STACK : 0);
	struct emit *e = &g->e;

	note_clock(g);
	if (!program->has_strings)
		/* movk: data_len */
		a64_insn(e, 0x72a00000 | len << 5 | R_B);
	a64_ldst(e, OP_STR32, R_B, record_mem(offsetof(struct ring_record, cpu)));
	a64_imm(e, R_A, g->probe->number);
	a64_ldst(e, OP_STR32, R_A, record_mem(offsetof(struct ring_record, probe)));
	a64_address(e, R_A, g->plan->site);
	if (g->probe->kind == PROBE_RETURN)
		a64_ldst(e, OP_LDR64, R_B, MEM(G_SP, FRAME_REAL));
	_Static_assert(offsetof(struct ring_record, ret) ==
			       offsetof(struct ring_record, vaddr) + 8,
		       "a pair");
	a64_stp(e, R_A, g->probe->kind == PROBE_RETURN ? R_B : G_ZR, R_RECORD,
		offsetof(struct ring_record, vaddr));
}

/* The record is there when this is. */
static void commit(struct gen *g)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_POS));
	a64_lsr(e, OP_X, R_A, R_A, 3);
	a64_add(e, R_A, R_A, 1);
	a64_add(e, R_B, R_RECORD, offsetof(struct ring_record, commit));
	a64_stlr(e, 0, R_A, R_B);
}

static void store_size(struct gen *g, uint32_t size)
{
	a64_imm(&g->e, R_A, size);
	a64_ldst(&g->e, OP_STR32, R_A, record_mem(offsetof(struct ring_record, size)));
}

/* Strings end before R_END. */
static void note_length(struct gen *g)
{
	struct emit *e = &g->e;

	a64_op(e, OP_SUB | OP_X, R_A, R_END, R_RECORD);
	a64_add(e, R_A, R_A, -RECORD_DATA);
	if (g->plan->frames)
		a64_logic(e, OP_ORR, R_A, R_A, RING_STACK);
	a64_ldst(e, OP_STR16, R_A, record_mem(offsetof(struct ring_record, data_len)));
}

/* What is reserved, if it is the last: it becomes R_B more than the position, which is in R_C. To
 * @not if it is not the last. Clobbers R_A, R_ADDRESS, R_B, R_C. */
static void cut(struct gen *g, uint32_t max, label_t not )
{
	struct emit *e = &g->e;
	label_t again;

	a64_op(e, OP_ADD | OP_X, R_B, R_B, R_C);
	a64_add(e, R_A, R_C, max);
	head_address(e, R_C);
	again = emit_here(e);
	a64_ldxr(e, R_ADDRESS, R_C);
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_ADDRESS, R_A);
	a64_bcond(e, COND_NE, not );
	a64_stxr(e, R_ADDRESS, R_B, R_C);
	a64_cbnz(e, 0, R_ADDRESS, again);
}

/* The record ends before R_END, which may be less than was reserved: shorten that, if it is the
 * last. */
static void shorten(struct gen *g, uint32_t max)
{
	struct emit *e = &g->e;
	label_t kept = emit_label(e), whole = emit_label(e);

	a64_op(e, OP_SUB | OP_X, R_END, R_END, R_RECORD);
	a64_add(e, R_END, R_END, 7);
	a64_logic(e, OP_AND | OP_X, R_END, R_END, ~7ULL);
	a64_mov(e, R_B, R_END);
	a64_ldst(e, OP_LDR64, R_C, MEM(G_SP, FRAME_POS));
	cut(g, max, whole);
	a64_b(e, kept);
	emit_set(e, whole);
	a64_imm(e, R_END, max);
	emit_set(e, kept);
	a64_ldst(e, OP_STR32, R_END, record_mem(offsetof(struct ring_record, size)));
}

/* Nothing is recorded: give back what was reserved, or say that it is void. */
static void give_back(struct gen *g, uint32_t max, label_t then)
{
	struct emit *e = &g->e;
	label_t last = emit_label(e);

	a64_imm(e, R_B, 0);
	a64_ldst(e, OP_LDR64, R_C, MEM(G_SP, FRAME_POS));
	cut(g, max, last);
	a64_b(e, then);
	emit_set(e, last);
	store_size(g, max);
	a64_imm(e, R_A, RING_VOID);
	a64_ldst(e, OP_STR32, R_A, record_mem(offsetof(struct ring_record, probe)));
	commit(g);
	a64_b(e, then);
}

/* One more at [R_B]; other threads, or a signal handler, may count there, too. */
static void count(struct emit *e)
{
	label_t again = emit_here(e);

	a64_ldxr(e, R_A, R_B);
	a64_add(e, R_A, R_A, 1);
	a64_stxr(e, G_TMP, R_A, R_B);
	a64_cbnz(e, 0, G_TMP, again);
}

static void count_lost(struct gen *g)
{
	a64_add(&g->e, R_B, R_THREAD, offsetof(struct ring_thread, lost));
	count(&g->e);
}

static void count_dropped(struct gen *g)
{
	uint32_t at = g->probe->number % RING_COUNTS;

	a64_add(&g->e, R_B, R_BASE, (int64_t)offsetof(struct ring_head, dropped) + 8 * at);
	count(&g->e);
}

const struct gen_records make_records = {
	.unless_off = unless_off,
	.find_thread = find_thread,
	.reserve = reserve,
	.head = record_head,
	.note_length = note_length,
	.shorten = shorten,
	.store_size = store_size,
	.commit = commit,
	.give_back = give_back,
	.count_lost = count_lost,
	.count_dropped = count_dropped,
};
