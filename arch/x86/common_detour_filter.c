/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters, for both widths: what is compared, and texts. */

#include "arch/x86/common_detour_filter.h"

#include <string.h>

#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"

/* --- numbers ------------------------------------------------------------------------------ */

/* Of a record that is written. */
static void load_data(struct gen *g, const struct filter_pred *pred)
{
	struct emit_mem mem = x86_data_at(g, pred->at);

	if (x86_takes_two(g, pred->size))
		emit_rm(&g->e, OP_LOAD, G_DX, x86_upper(mem));
	emit_rm(&g->e, x86_load_extended(pred), G_AX, mem);
}

static void load_other(struct gen *g, const struct filter_pred *pred)
{
	struct emit *e = &g->e;

	if (x86_takes_two(g, pred->size))
		emit_rr(e, OP_XOR, G_DX, G_DX);
	if (pred->source == FILTER_FROM_TID)
		emit_rm(e, OP_LOAD, G_AX,
			MEM(x86_load_thread(g, G_AX), offsetof(struct ring_thread, tid)));
	else if (pred->source == FILTER_FROM_CPU)
		emit_rm(e, OP_MOVZX2, G_AX,
			x86_record_mem(g, offsetof(struct ring_record, cpu)));
	else if (g->probe->kind == PROBE_RETURN)
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, x86_gen(g)->frame.real));
	else
		emit_address(e, G_AX, g->plan->site);
}

void x86_number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg)
{
	if (pred->source == FILTER_FROM_DATA && !arg) {
		load_data(g, pred);
		return;
	}
	if (pred->source == FILTER_FROM_DATA)
		gen_value(g, arg);
	else
		load_other(g, pred);
	if (pred->size < 4)
		emit_rr(&g->e, x86_load_extended(pred), G_AX, G_AX);
}

unsigned x86_load_extended(const struct filter_pred *pred)
{
	if (pred->size > 2 || !pred->is_signed)
		return x86_load_op(pred->size);
	return pred->size == 1 ? OP_MOVSX8 : OP_MOVSX2;
}

enum cond x86_cond_of(const struct filter_pred *pred)
{
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

/* --- texts -------------------------------------------------------------------------------- */

void x86_text(struct gen *g, const struct filter_pred *pred)
{
	const int record = x86_gen(g)->regs.record;
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_CX, MEM(record, RECORD_DATA + (int32_t)pred->at));
	emit_rr(e, OP_MOVZX2, G_DI, G_CX);
	emit_shift(e, 0, SHIFT_R, G_CX, 16);
	emit_rm(e, OP_LEA, G_DI, MEM_X(G_DI, record, 0, RECORD_DATA));
}

void x86_compare_length(struct gen *g, uint32_t len)
{
	emit_alu(&g->e, 0, ALU_CMP, G_CX, (int32_t)len);
}

void x86_skip_to_tail(struct gen *g, uint32_t len)
{
	emit_rm(&g->e, OP_LEA, G_DI, MEM_X(G_DI, G_CX, 0, -(int32_t)len - 1));
}

void x86_compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
		       label_t no)
{
	struct emit *e = &g->e;
	uint64_t word = 0;

	memcpy(&word, want, len);
	if (len == 8) {
		emit_imm(e, G_AX, word);
		emit_rm(e, OP_CMP | OP_W, G_AX, MEM(G_DI, at));
	} else if (len == 4) {
		emit_rm(e, 0x81, ALU_CMP, MEM(G_DI, at));
		emit_u32(e, (uint32_t)word);
	} else {
		emit_rm(e, 0x80, ALU_CMP, MEM(G_DI, at));
		emit_u8(e, (uint8_t)word);
	}
	emit_jcc(e, COND_NE, no);
}
