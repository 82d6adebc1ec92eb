/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: numbers and texts are compared. */

#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

/* --- numbers ------------------------------------------------------------------------------ */

/* Of a record that is written. */
static void load_number(struct gen *g, const struct filter_pred *pred)
{
	struct emit_mem mem = x86_data_at(g, pred->at);
	struct emit *e = &g->e;

	if (pred->size == 8)
		emit_rm(e, OP_LOAD, G_DX, x86_upper(mem));
	emit_rm(e, x86_load_extended(pred), G_AX, mem);
}

/* The value, extended to 32 bits, in eax; of 8 bytes, in edx and eax. */
static void number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg)
{
	struct emit *e = &g->e;

	if (pred->source == FILTER_FROM_DATA && !arg) {
		load_number(g, pred);
		return;
	}
	if (pred->source == FILTER_FROM_DATA) {
		gen_value(g, arg);
	} else {
		if (pred->size == 8)
			emit_rr(e, OP_XOR, G_DX, G_DX);
		if (pred->source == FILTER_FROM_TID) {
			emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_THREAD));
			emit_rm(e, OP_LOAD, G_AX, MEM(G_AX, offsetof(struct ring_thread, tid)));
		} else if (pred->source == FILTER_FROM_CPU) {
			emit_rm(e, OP_MOVZX2, G_AX,
				MEM(R_RECORD, offsetof(struct ring_record, cpu)));
		} else if (g->probe->is_return) {
			emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_REAL));
		} else {
			emit_imm(e, G_AX, g->plan->site);
		}
	}
	if (pred->size < 4)
		emit_rr(e, x86_load_extended(pred), G_AX, G_AX);
}

/* edx, eax with 64 bits; clobbers them. */
static unsigned compare_wide(struct gen *g, const struct filter_pred *pred)
{
	int32_t low = (int32_t)(uint32_t)pred->value, high = (int32_t)(pred->value >> 32);
	struct emit *e = &g->e;

	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		emit_alu(e, 0, ALU_XOR, G_AX, low);
		emit_alu(e, 0, ALU_XOR, G_DX, high);
		emit_rr(e, OP_OR, G_AX, G_DX);
		return COND_E;
	case FILTER_AND:
		emit_alu(e, 0, ALU_AND, G_AX, low);
		emit_alu(e, 0, ALU_AND, G_DX, high);
		emit_rr(e, OP_OR, G_AX, G_DX);
		return COND_NE;
	case FILTER_LE: /* not less the other way round */
		emit_imm(e, G_CX, (uint32_t)low);
		emit_rr(e, OP_CMP, G_CX, G_AX);
		emit_imm(e, G_CX, (uint32_t)high);
		emit_rr(e, OP_SBB, G_CX, G_DX);
		return pred->is_signed ? COND_GE : COND_AE;
	default:
		emit_alu(e, 0, ALU_CMP, G_AX, low);
		emit_alu(e, 0, ALU_SBB, G_DX, high);
		return pred->is_signed && pred->test == FILTER_LT ? COND_L : COND_B;
	}
}

static unsigned compare(struct gen *g, const struct filter_pred *pred, int reg)
{
	struct emit *e = &g->e;

	if (pred->size == 8)
		return compare_wide(g, pred);
	if (pred->test == FILTER_AND)
		emit_test(e, 0, reg, (int32_t)pred->value);
	else
		emit_alu(e, 0, ALU_CMP, reg, (int32_t)pred->value);
	return x86_cond_of(pred);
}

/* bt looks at words of 4 bytes. */
static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	(void)pred; /* the number is less than 2^32 */
	emit_rm(&g->e, OP_BT, G_AX, MEM_LABEL(set));
	return COND_B;
}

/* --- texts -------------------------------------------------------------------------------- */

static void text(struct gen *g, const struct filter_pred *pred)
{
	x86_text_of_data(&g->e, R_RECORD, pred);
}

const struct gen_filters gen32_filters = {
	.not_equal = COND_NE,
	.above = COND_A,
	.below = COND_B,
	/* Only once the thread is known, the base of its segment is. */
	.late_reg = X86_GS_BASE,
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
