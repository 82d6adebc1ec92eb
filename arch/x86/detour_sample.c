/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Sampling (base/sample_plan.h). A signal handler of the thread may come between any two instructions, and change the counter, too: each
 * change is one instruction, and what is subtracted is subtracted only if nobody else did.
 *
 * rcx is the step, rdx the ring; rax scratch.
 */

#include <stddef.h>

#include "arch/gen_record.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"
#include "arch/x86/gen.h"
#include "engine/base/sample_plan.h"

#define R_STEP G_CX
#define R_RING G_DX

static struct emit_mem word_at(const struct gen *g, size_t member)
{
	return MEM(R_RING, g->plan->tally.samples +
				   g->probe->number * sizeof(struct sample_word) + member);
}

static void load_ring(struct gen *g)
{
	emit_rm(&g->e, OP_LOAD | OP_W, R_RING,
		x86_thread_mem(g, offsetof(struct ring_thread, ring)));
}

/* Of a probe that adds up an argument. */
static void load_step(struct gen *g, const struct fetch_op *source)
{
	const struct sample_plan *plan = g->probe->sample;
	label_t positive = emit_label(&g->e), fits = emit_label(&g->e);
	struct emit *e = &g->e;

	gen64_field(g, &plan->field, source);
	if (plan->field.is_signed) {
		emit_rr(e, OP_TEST | OP_W, R_STEP, R_STEP);
		emit_jcc(e, COND_NS, positive);
		emit_rr(e, OP_XOR, R_STEP, R_STEP);
		emit_set(e, positive);
	}
	emit_alu(e, OP_W, ALU_CMP, R_STEP, (int32_t)plan->every);
	emit_jcc(e, COND_BE, fits);
	emit_imm(e, R_STEP, plan->every);
	emit_set(e, fits);
}

static void take(struct gen *g, const struct fetch_op *source, label_t skip)
{
	struct emit_mem used = word_at(g, offsetof(struct sample_word, used));
	struct emit_mem given = word_at(g, offsetof(struct sample_word, given));
	int32_t every = (int32_t)g->probe->sample->every;
	struct emit *e = &g->e;
	label_t again;

	if (g->probe->sample->has_field)
		load_step(g, source);
	load_ring(g);
	if (g->probe->sample->has_field)
		emit_rm(e, OP_ADD_TO | OP_W, R_STEP, used);
	else
		emit_rm(e, 0xff | OP_W, 0, used); /* inc */
	again = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, G_AX, used);
	emit_rm(e, OP_LOAD | OP_W, G_CX, given);
	emit_rr(e, OP_ADD | OP_W, G_CX, G_AX);
	emit_alu(e, OP_W, ALU_CMP, G_CX, every);
	emit_jcc(e, COND_L, skip);
	emit_rm(e, OP_LEA, G_CX, MEM(G_AX, -every));
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX, used);
	emit_jcc(e, COND_NE, again);
}

static void put_back(struct gen *g, const struct fetch_op *source)
{
	struct emit_mem used = word_at(g, offsetof(struct sample_word, used));
	int32_t every = (int32_t)g->probe->sample->every;
	struct emit *e = &g->e;

	if (!g->probe->sample->has_field) {
		load_ring(g);
		emit_alu_mem(e, OP_W, ALU_ADD, used, every - 1);
		return;
	}
	load_step(g, source);
	load_ring(g);
	emit_rr(e, 0xf7 | OP_W, 3, R_STEP); /* neg */
	emit_alu(e, OP_W, ALU_ADD, R_STEP, every);
	emit_rm(e, OP_ADD_TO | OP_W, R_STEP, used);
}

static void mark(struct gen *g)
{
	emit_rm(&g->e, 0x80, ALU_OR, x86_record_mem(g, offsetof(struct ring_record, cpu) + 1));
	emit_u8(&g->e, RING_SAMPLED >> 8);
}

static void count_left_out(struct gen *g)
{
	const size_t at = offsetof(struct ring_head, left_out);

	x86_count_up(g, OP_LOCK, MEM(R_BASE, at + 8 * (g->probe->number % RING_COUNTS)), NULL);
}

const struct gen_samples gen64_samples = {
	.regs = 1u << G_AX | 1u << G_CX | 1u << G_DX,
	.take = take,
	.put_back = put_back,
	.mark = mark,
	.count_left_out = count_left_out,
};
