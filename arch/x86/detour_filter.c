/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: numbers and texts are compared. */

#include "arch/x86/gen.h"

/* --- numbers ------------------------------------------------------------------------------ */

/* The value, extended to 32 or 64 bits, in rax. */
static void number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg)
{
	struct emit *e = &g->e;

	if (pred->source == FILTER_FROM_DATA && !arg) {
		emit_rm(e, x86_load_extended(pred), G_AX, x86_data_at(g, pred->at));
		return;
	}
	if (pred->source == FILTER_FROM_DATA)
		gen_value(g, arg);
	else if (pred->source == FILTER_FROM_TID)
		emit_rm(e, OP_LOAD, G_AX, MEM(R_THREAD, offsetof(struct ring_thread, tid)));
	else if (pred->source == FILTER_FROM_CPU)
		emit_rm(e, OP_MOVZX2, G_AX, MEM(R_RECORD, offsetof(struct ring_record, cpu)));
	else if (g->probe->is_return)
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, FRAME_REAL));
	else
		emit_address(e, G_AX, g->plan->site);
	if (pred->size < 4)
		emit_rr(e, x86_load_extended(pred), G_AX, G_AX);
}

static unsigned compare(struct gen *g, const struct filter_pred *pred, int reg)
{
	unsigned w = pred->size == 8 ? OP_W : 0;
	struct emit *e = &g->e;
	bool is_and = pred->test == FILTER_AND;

	if (w && !emit_fits(pred->value)) {
		emit_imm(e, G_CX, pred->value);
		emit_rr(e, (is_and ? OP_TEST : OP_CMP) | w, reg, G_CX);
	} else if (is_and) {
		emit_test(e, w, reg, (int32_t)pred->value);
	} else {
		emit_alu(e, w, ALU_CMP, reg, (int32_t)pred->value);
	}
	return x86_cond_of(pred);
}

/* bt looks at words of 8 bytes. */
static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	if (pred->size < 8)
		emit_rr(&g->e, OP_LOAD, G_AX, G_AX);
	emit_rm(&g->e, OP_BT | OP_W, G_AX, MEM_LABEL(set));
	return COND_B;
}

/* --- texts -------------------------------------------------------------------------------- */

static void text(struct gen *g, const struct filter_pred *pred)
{
	x86_text_of_data(&g->e, R_RECORD, pred);
}

const struct gen_filters gen64_filters = {
	.not_equal = COND_NE,
	.above = COND_A,
	.below = COND_B,
	/* Without rdfsbase it is read where C libraries keep it: right once the thread was found by it. */
	.late_reg = X86_FS_BASE,
	.scratch = G_AX,
	.live = x86_live,
	.number = number,
	.compare = compare,
	.in_set = in_set,
	.text = text,
	.compare_length = x86_compare_length,
	.skip_to_tail = x86_skip_to_tail,
	.compare_bytes = x86_compare_bytes,
};
