/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: numbers and texts are compared. */

#include <string.h>

#include "arch/arm64/gen.h"

/* --- numbers ------------------------------------------------------------------------------ */

static uint32_t load_extended(const struct filter_pred *pred)
{
	switch (pred->size) {
	case 1:
		return pred->is_signed ? OP_LDRS8 : OP_LDR8;
	case 2:
		return pred->is_signed ? OP_LDRS16 : OP_LDR16;
	case 4:
		return OP_LDR32;
	default:
		return OP_LDR64;
	}
}

/* The value, extended to 32 or 64 bits, in R_A. */
static void number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg)
{
	struct emit *e = &g->e;

	if (pred->source == FILTER_FROM_DATA && !arg) {
		a64_ldst(e, load_extended(pred), R_A, make_data_at(pred->at));
		return;
	}
	if (pred->source == FILTER_FROM_DATA)
		gen_value(g, arg);
	else if (pred->source == FILTER_FROM_TID)
		a64_ldst(e, OP_LDR32, R_A, MEM(R_THREAD, offsetof(struct ring_thread, tid)));
	else if (pred->source == FILTER_FROM_CPU)
		a64_ldst(e, OP_LDR16, R_A, MEM(R_RECORD, offsetof(struct ring_record, cpu)));
	else if (g->probe->kind == PROBE_RETURN)
		a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_REAL));
	else
		a64_address(e, R_A, g->plan->site);
	if (pred->size < 4 && pred->is_signed)
		a64_sign_extend(e, R_A, R_A, 8u * pred->size);
	else if (pred->size < 4)
		a64_zero_extend(e, R_A, R_A, 8u * pred->size);
}

static unsigned compare(struct gen *g, const struct filter_pred *pred, int reg)
{
	uint32_t x = pred->size == 8 ? OP_X : 0;
	struct emit *e = &g->e;

	if (pred->test == FILTER_AND)
		a64_logic(e, OP_ANDS | x, G_ZR, reg, pred->value);
	else
		a64_cmp(e, x, reg, pred->value);
	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		return COND_EQ;
	case FILTER_LT:
		return pred->is_signed ? COND_LT : COND_LO;
	case FILTER_LE:
		return pred->is_signed ? COND_LE : COND_LS;
	case FILTER_AND:
		return COND_NE;
	default:
		return COND_LO;
	}
}

static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	struct emit *e = &g->e;

	if (pred->size < 8)
		a64_zero_extend(e, R_A, R_A, 32);
	a64_adr(e, R_B, set);
	a64_lsr(e, OP_X, R_C, R_A, 6);
	a64_ldst(e, OP_LDR64, R_B, MEM_X(R_B, R_C));
	a64_op(e, OP_LSRV | OP_X, R_B, R_B, R_A);
	a64_logic(e, OP_ANDS, G_ZR, R_B, 1);
	return COND_NE;
}

/* --- texts -------------------------------------------------------------------------------- */

/* R_ADDRESS: the text; R_B: its bytes, with the NUL; 0: it could not be read. */
static void text(struct gen *g, const struct filter_pred *pred)
{
	struct emit *e = &g->e;

	a64_ldst(e, OP_LDR32, R_B, make_data_at(pred->at));
	a64_zero_extend(e, R_ADDRESS, R_B, 16);
	a64_lsr(e, 0, R_B, R_B, 16);
	a64_op(e, OP_ADD | OP_X, R_ADDRESS, R_ADDRESS, R_RECORD);
	a64_add(e, R_ADDRESS, R_ADDRESS, RECORD_DATA);
}

static void compare_length(struct gen *g, uint32_t len)
{
	a64_cmp(&g->e, OP_X, R_B, len);
}

static void skip_to_tail(struct gen *g, uint32_t len)
{
	a64_op(&g->e, OP_ADD | OP_X, R_ADDRESS, R_ADDRESS, R_B);
	a64_add(&g->e, R_ADDRESS, R_ADDRESS, -(int64_t)len - 1);
}

static void compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
			  label_t no)
{
	uint32_t op = len == 8 ? OP_LDR64 : len == 4 ? OP_LDR32 : OP_LDR8;
	struct emit *e = &g->e;
	uint64_t word = 0;

	memcpy(&word, want, len);
	a64_imm(e, R_A, word);
	a64_ldst(e, op, R_C, MEM(R_ADDRESS, at));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_C);
	a64_bcond(e, COND_NE, no);
}

const struct gen_filters make_filters = {
	.not_equal = COND_NE,
	.above = COND_HI,
	.below = COND_LO,
	.late_reg = FETCH_NO_REG,
	.scratch = R_A,
	.live = make_live,
	.number = number,
	.compare = compare,
	.in_set = in_set,
	.text = text,
	.compare_length = compare_length,
	.skip_to_tail = skip_to_tail,
	.compare_bytes = compare_bytes,
};
