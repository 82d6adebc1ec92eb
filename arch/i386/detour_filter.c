/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: numbers and texts are compared. */

#include <string.h>

#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

/* --- numbers ------------------------------------------------------------------------------ */

static unsigned load_extended(const struct filter_pred *pred)
{
	switch (pred->size) {
	case 1:
		return pred->is_signed ? OP_MOVSX8 : OP_MOVZX8;
	case 2:
		return pred->is_signed ? OP_MOVSX2 : OP_MOVZX2;
	default:
		return OP_LOAD;
	}
}

/* Of a record that is written. */
static void load_number(struct emit *e, const struct filter_pred *pred)
{
	struct emit_mem mem = gen32_data_at(pred->at);

	if (pred->size == 8)
		emit_rm(e, OP_LOAD, G_DX, gen32_upper(mem));
	emit_rm(e, load_extended(pred), G_AX, mem);
}

/* The value, extended to 32 bits, in eax; of 8 bytes, in edx and eax. */
static void number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg)
{
	struct emit *e = &g->e;

	if (pred->source == FILTER_FROM_DATA && !arg) {
		load_number(e, pred);
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
		emit_rr(e, load_extended(pred), G_AX, G_AX);
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
	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		return COND_E;
	case FILTER_LT:
		return pred->is_signed ? COND_L : COND_B;
	case FILTER_LE:
		return pred->is_signed ? COND_LE : COND_BE;
	case FILTER_AND:
		return COND_NE;
	default:
		return COND_B;
	}
}

/* bt looks at words of 4 bytes. */
static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	(void)pred; /* the number is less than 2^32 */
	emit_rm(&g->e, OP_BT, G_AX, MEM_LABEL(set));
	return COND_B;
}

/* --- texts -------------------------------------------------------------------------------- */

/* R_ACC: the text; ecx: its bytes, with the NUL; 0: it could not be read. */
static void text_of_data(struct gen *g, const struct filter_pred *pred)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_CX, gen32_data_at(pred->at));
	emit_rr(e, OP_MOVZX2, R_ACC, G_CX);
	emit_shift(e, 0, SHIFT_R, G_CX, 16);
	emit_rm(e, OP_LEA, R_ACC, MEM_X(R_ACC, R_RECORD, 0, RECORD_DATA));
}

static void text_of_comm(struct gen *g)
{
	struct emit *e = &g->e;
	label_t loop, done = emit_label(e);

	gen32_comm_address(g, R_ACC);
	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	emit_rm(e, OP_MOVZX8, G_AX, MEM_X(R_ACC, G_CX, 0, 0));
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_rr(e, OP_TEST, G_AX, G_AX);
	emit_jcc(e, COND_E, done);
	emit_alu(e, 0, ALU_CMP, G_CX, 16);
	emit_jcc(e, COND_B, loop);
	emit_set(e, done);
}

static void text(struct gen *g, const struct filter_pred *pred)
{
	if (pred->source == FILTER_FROM_COMM)
		text_of_comm(g);
	else
		text_of_data(g, pred);
}

static void compare_length(struct gen *g, uint32_t len)
{
	emit_alu(&g->e, 0, ALU_CMP, G_CX, (int32_t)len);
}

static void skip_to_tail(struct gen *g, uint32_t len)
{
	emit_rm(&g->e, OP_LEA, R_ACC, MEM_X(R_ACC, G_CX, 0, -(int32_t)len - 1));
}

static void compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
			  label_t no)
{
	struct emit *e = &g->e;
	uint64_t word = 0;

	memcpy(&word, want, len);
	if (len == 4) {
		emit_rm(e, 0x81, ALU_CMP, MEM(R_ACC, at));
		emit_u32(e, (uint32_t)word);
	} else {
		emit_rm(e, 0x80, ALU_CMP, MEM(R_ACC, at));
		emit_u8(e, (uint8_t)word);
	}
	emit_jcc(e, COND_NE, no);
}

const struct gen_filters gen32_filters = {
	.not_equal = COND_NE,
	.above = COND_A,
	.below = COND_B,
	/* Only once the thread is known, the base of its segment is. */
	.late_reg = X86_GS_BASE,
	.scratch = G_AX,
	.live = gen32_live,
	.number = number,
	.compare = compare,
	.in_set = in_set,
	.text = text,
	.compare_length = compare_length,
	.skip_to_tail = skip_to_tail,
	.compare_bytes = compare_bytes,
};
