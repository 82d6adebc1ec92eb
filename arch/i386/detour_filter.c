/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Filters as machine code, up to twice: first with what registers and pointers tell, so
 * that most hits that are not wanted are gone before anything is written; then, if that
 * could not tell all, with the record.
 */

#include <string.h>

#include "arch/i386/gen.h"
#include "arch/i386/i386.h"

/* One pass over a filter. */
struct pass {
	struct gen *g;
	const struct filter *filter;
	bool early;
	label_t first; /* of the predicates, in a row */
	label_t pass, drop;
	label_t next; /* what follows the code for this one */
	bool unsure;
};

/* Only once the thread is known, the base of its segment is. */
static struct detour_look look_at(const struct gen *g, const struct detour_probe *probe,
				  bool early)
{
	return (struct detour_look){
		.plan = g->plan, .probe = probe, .late_reg = X86_GS_BASE, .early = early
	};
}

struct detour_early gen32_filter_look(const struct gen *g, const struct detour_probe *probe)
{
	struct detour_look look = look_at(g, probe, true);

	return detour_look_early(&look);
}

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

/* The register of the program that has the value as it is, or G_NONE. */
static int live_value(const struct pass *p, const struct filter_pred *pred)
{
	const struct fetch_op *op;

	if (!p->early || pred->source != FILTER_FROM_DATA || pred->size != 4 ||
	    pred->test == FILTER_IN_SET)
		return G_NONE;
	op = detour_arg_of(p->g->probe->program, pred);
	if (op->code != FETCH_REG || op[1].code != FETCH_STORE_VALUE || op[1].bit_width)
		return G_NONE;
	return gen32_live(p->g, op->reg);
}

/* Of a record that is written. */
static void load_number(struct emit *e, const struct filter_pred *pred)
{
	struct emit_mem mem = gen32_data_at(pred->at);

	if (pred->size == 8)
		emit_rm(e, OP_LOAD, G_DX, gen32_upper(mem));
	emit_rm(e, load_extended(pred), G_AX, mem);
}

/* The value, extended to 32 bits, in a register that is returned; of 8 bytes, in edx and eax. */
static int number(struct pass *p, const struct filter_pred *pred)
{
	struct gen *g = p->g;
	struct emit *e = &g->e;
	int live = live_value(p, pred);

	if (live != G_NONE)
		return live;
	if (pred->source == FILTER_FROM_DATA && !p->early) {
		load_number(e, pred);
		return G_AX;
	}
	if (pred->source == FILTER_FROM_DATA) {
		gen32_value(g, detour_arg_of(g->probe->program, pred));
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
	return G_AX;
}

/* edx, eax with 64 bits; clobbers them. */
static enum cond compare_wide(struct pass *p, const struct filter_pred *pred)
{
	int32_t low = (int32_t)(uint32_t)pred->value, high = (int32_t)(pred->value >> 32);
	struct emit *e = &p->g->e;

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

static enum cond compare(struct pass *p, const struct filter_pred *pred, int reg)
{
	struct emit *e = &p->g->e;

	if (pred->size == 8)
		return compare_wide(p, pred);
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

static void go(struct pass *p, label_t to)
{
	if (to != p->next)
		emit_jmp(&p->g->e, to);
}

static void branch(struct pass *p, enum cond cond, label_t yes, label_t no)
{
	if (yes == p->next) {
		emit_jcc(&p->g->e, (enum cond)(cond ^ 1), no);
		return;
	}
	emit_jcc(&p->g->e, cond, yes);
	go(p, no);
}

static void put_number(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	struct emit *e = &p->g->e;
	int reg = number(p, pred);

	if (pred->test == FILTER_IN_SET) {
		const uint8_t *set = p->filter->bytes + pred->text;

		/* bt looks at words of 4 bytes: it must not look behind the set. */
		emit_jcc(e, (enum cond)(compare(p, pred, reg) ^ 1), no);
		emit_rm(e, OP_BT, G_AX,
			MEM_LABEL(gen32_literal(p->g, set, (pred->value + 7) / 8)));
		branch(p, COND_B, yes, no);
	} else {
		branch(p, compare(p, pred, reg), yes, no);
	}
}

/* --- texts -------------------------------------------------------------------------------- */

/* Compare the bytes at R_ACC; to @no if they are others. */
static void put_bytes(struct pass *p, const uint8_t *want, uint32_t len, label_t no)
{
	struct emit *e = &p->g->e;
	uint32_t at = 0;

	for (; len - at >= 4; at += 4) {
		uint32_t word;

		memcpy(&word, want + at, sizeof(word));
		emit_rm(e, 0x81, ALU_CMP, MEM(R_ACC, at));
		emit_u32(e, word);
		emit_jcc(e, COND_NE, no);
	}
	for (; at < len; at++) {
		emit_rm(e, 0x80, ALU_CMP, MEM(R_ACC, at));
		emit_u8(e, want[at]);
		emit_jcc(e, COND_NE, no);
	}
}

/* R_ACC: the text; ecx: its bytes, with the NUL; 0: it could not be read. */
static void text_of_data(struct pass *p, const struct filter_pred *pred)
{
	struct emit *e = &p->g->e;

	emit_rm(e, OP_LOAD, G_CX, gen32_data_at(pred->at));
	emit_rr(e, OP_MOVZX2, R_ACC, G_CX);
	emit_shift(e, 0, SHIFT_R, G_CX, 16);
	emit_rm(e, OP_LEA, R_ACC, MEM_X(R_ACC, R_RECORD, 0, RECORD_DATA));
}

static void text_of_comm(struct pass *p)
{
	struct emit *e = &p->g->e;
	label_t loop, done = emit_label(e);

	gen32_comm_address(p->g, R_ACC);
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

static void put_text(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	const uint8_t *want = p->filter->bytes + pred->text;
	int32_t len = (int32_t)pred->text_len;
	struct emit *e = &p->g->e;

	if (pred->source == FILTER_FROM_COMM)
		text_of_comm(p);
	else
		text_of_data(p, pred);
	emit_alu(e, 0, ALU_CMP, G_CX, len + 1);
	if (pred->test == FILTER_SAME)
		/* what could not be read is as empty as what is empty */
		emit_jcc(e, len ? COND_NE : COND_A, no);
	else if (len || pred->test == FILTER_SUFFIX)
		emit_jcc(e, COND_B, no);
	if (pred->test == FILTER_SUFFIX)
		emit_rm(e, OP_LEA, R_ACC, MEM_X(R_ACC, G_CX, 0, -len - 1));
	put_bytes(p, want, (uint32_t)len, no);
	go(p, yes);
}

/* --- a whole filter ------------------------------------------------------------------------- */

static label_t label_of(struct pass *p, uint16_t next)
{
	if (next < p->filter->n_preds)
		return p->first + next;
	return next == FILTER_PASS ? p->pass : p->drop;
}

static void put_pred(struct pass *p, const struct filter_pred *pred)
{
	label_t yes = label_of(p, pred->on_true), no = label_of(p, pred->on_false);
	const struct gen *g = p->g;
	struct detour_look look = look_at(g, g->probe, p->early);

	switch (detour_pred_of(&look, pred)) {
	case DETOUR_UNKNOWN:
		p->unsure = true;
		go(p, p->pass);
		break;
	case DETOUR_CONST:
		go(p, detour_outcome(&look, pred) ? yes : no);
		break;
	case DETOUR_NUMBER:
		put_number(p, pred, yes, no);
		break;
	case DETOUR_TEXT:
		put_text(p, pred, yes, no);
		break;
	}
}

static bool put_filter(struct gen *g, bool early, label_t drop)
{
	struct pass p = {
		.g = g,
		.filter = g->probe->filter,
		.early = early,
		.pass = emit_label(&g->e),
		.drop = drop,
	};

	p.first = (label_t)g->e.n_labels;
	for (uint32_t i = 0; i < p.filter->n_preds; i++)
		emit_label(&g->e);
	for (uint32_t i = 0; i < p.filter->n_preds; i++) {
		emit_set(&g->e, p.first + i);
		p.next = i + 1 < p.filter->n_preds ? p.first + i + 1 : p.pass;
		put_pred(&p, &p.filter->preds[i]);
	}
	emit_set(&g->e, p.pass);
	return !p.unsure;
}

void gen32_filter_early(struct gen *g, label_t drop)
{
	put_filter(g, true, drop);
}

bool gen32_filter_late(struct gen *g, label_t drop)
{
	return put_filter(g, false, drop);
}
