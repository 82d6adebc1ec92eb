/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Filters as machine code, up to twice: first with what registers and pointers tell, so
 * that most hits that are not wanted are gone before anything is written; then, if that
 * could not tell all, with the record.
 */

#include <string.h>

#include "arch/arm64/gen.h"

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

static struct detour_look look_at(const struct gen *g, const struct detour_probe *probe,
				  bool early)
{
	return (struct detour_look){
		.plan = g->plan, .probe = probe, .late_reg = FETCH_NO_REG, .early = early
	};
}

struct detour_early make_filter_look(const struct gen *g, const struct detour_probe *probe)
{
	struct detour_look look = look_at(g, probe, true);

	return detour_look_early(&look);
}

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

/* The register of the program that has the value as it is, or G_NONE. */
static int live_value(const struct pass *p, const struct filter_pred *pred)
{
	const struct fetch_op *op;

	if (!p->early || pred->source != FILTER_FROM_DATA || pred->size < 4 ||
	    pred->test == FILTER_IN_SET)
		return G_NONE;
	op = detour_arg_of(p->g->probe->program, pred);
	if (op->code != FETCH_REG || op[1].code != FETCH_STORE_VALUE || op[1].bit_width)
		return G_NONE;
	return make_live(p->g, op->reg);
}

/* The value, extended to 32 or 64 bits, in a register that is returned. */
static int number(struct pass *p, const struct filter_pred *pred)
{
	struct gen *g = p->g;
	struct emit *e = &g->e;
	int live = live_value(p, pred);

	if (live != G_NONE)
		return live;
	if (pred->source == FILTER_FROM_DATA && !p->early) {
		a64_ldst(e, load_extended(pred), R_A, make_data_at(pred->at));
		return R_A;
	}
	if (pred->source == FILTER_FROM_DATA)
		make_value(g, detour_arg_of(g->probe->program, pred));
	else if (pred->source == FILTER_FROM_TID)
		a64_ldst(e, OP_LDR32, R_A, MEM(R_THREAD, offsetof(struct ring_thread, tid)));
	else if (pred->source == FILTER_FROM_CPU)
		a64_ldst(e, OP_LDR16, R_A, MEM(R_RECORD, offsetof(struct ring_record, cpu)));
	else if (g->probe->is_return)
		a64_ldst(e, OP_LDR64, R_A, MEM(G_SP, FRAME_REAL));
	else
		a64_address(e, R_A, g->plan->site);
	if (pred->size < 4 && pred->is_signed)
		a64_sign_extend(e, R_A, R_A, 8u * pred->size);
	else if (pred->size < 4)
		a64_zero_extend(e, R_A, R_A, 8u * pred->size);
	return R_A;
}

static enum cond compare(struct pass *p, const struct filter_pred *pred, int reg)
{
	uint32_t x = pred->size == 8 ? OP_X : 0;
	struct emit *e = &p->g->e;

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

static void go(struct pass *p, label_t to)
{
	if (to != p->next)
		a64_b(&p->g->e, to);
}

static void branch(struct pass *p, enum cond cond, label_t yes, label_t no)
{
	if (yes == p->next) {
		a64_bcond(&p->g->e, (enum cond)(cond ^ 1), no);
		return;
	}
	a64_bcond(&p->g->e, cond, yes);
	go(p, no);
}

/* R_A, 64 bits, is less than .value: is its bit set? */
static void put_set(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	const uint8_t *set = p->filter->bytes + pred->text;
	struct emit *e = &p->g->e;

	a64_adr(e, R_B, make_literal(p->g, set, (pred->value + 7) / 8));
	a64_lsr(e, OP_X, R_C, R_A, 6);
	a64_ldst(e, OP_LDR64, R_B, MEM_X(R_B, R_C));
	a64_op(e, OP_LSRV | OP_X, R_B, R_B, R_A);
	a64_logic(e, OP_ANDS, G_ZR, R_B, 1);
	branch(p, COND_NE, yes, no);
}

static void put_number(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	struct emit *e = &p->g->e;
	int reg = number(p, pred);
	enum cond cond = compare(p, pred, reg);

	if (pred->test == FILTER_IN_SET) {
		a64_bcond(e, (enum cond)(cond ^ 1), no);
		if (pred->size < 8)
			a64_zero_extend(e, R_A, R_A, 32);
		put_set(p, pred, yes, no);
	} else {
		branch(p, cond, yes, no);
	}
}

/* --- texts -------------------------------------------------------------------------------- */

/* Compare @len bytes at R_ADDRESS + @at, a power of two; to @no if they are others. */
static void put_piece(struct emit *e, const uint8_t *want, uint32_t at, uint32_t len,
		      label_t no)
{
	uint32_t op = len == 8 ? OP_LDR64 : len == 4 ? OP_LDR32 : OP_LDR8;
	uint64_t word = 0;

	memcpy(&word, want + at, len);
	a64_imm(e, R_A, word);
	a64_ldst(e, op, R_C, MEM(R_ADDRESS, at));
	a64_op(e, OP_SUBS | OP_X, G_ZR, R_A, R_C);
	a64_bcond(e, COND_NE, no);
}

static void put_bytes(struct pass *p, const uint8_t *want, uint32_t len, label_t no)
{
	struct emit *e = &p->g->e;
	uint32_t at = 0;

	for (; len - at >= 8; at += 8)
		put_piece(e, want, at, 8, no);
	for (; len - at >= 4; at += 4)
		put_piece(e, want, at, 4, no);
	for (; at < len; at++)
		put_piece(e, want, at, 1, no);
}

/* R_ADDRESS: the text; R_B: its bytes, with the NUL; 0: it could not be read. */
static void text_of_data(struct pass *p, const struct filter_pred *pred)
{
	struct emit *e = &p->g->e;

	a64_ldst(e, OP_LDR32, R_B, make_data_at(pred->at));
	a64_zero_extend(e, R_ADDRESS, R_B, 16);
	a64_lsr(e, 0, R_B, R_B, 16);
	a64_op(e, OP_ADD | OP_X, R_ADDRESS, R_ADDRESS, R_RECORD);
	a64_add(e, R_ADDRESS, R_ADDRESS, RECORD_DATA);
}

static void text_of_comm(struct pass *p)
{
	struct emit *e = &p->g->e;
	label_t loop, done = emit_label(e);

	make_comm_address(e);
	a64_imm(e, R_B, 0);
	loop = emit_here(e);
	a64_ldst(e, OP_LDR8, R_A, MEM_BYTES(R_ADDRESS, R_B));
	a64_add(e, R_B, R_B, 1);
	a64_cbz(e, 0, R_A, done);
	a64_cmp(e, OP_X, R_B, 16);
	a64_bcond(e, COND_LO, loop);
	emit_set(e, done);
}

static void put_text(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	const uint8_t *want = p->filter->bytes + pred->text;
	uint32_t len = pred->text_len;
	struct emit *e = &p->g->e;

	if (pred->source == FILTER_FROM_COMM)
		text_of_comm(p);
	else
		text_of_data(p, pred);
	a64_cmp(e, OP_X, R_B, len + 1);
	if (pred->test == FILTER_SAME)
		/* what could not be read is as empty as what is empty */
		a64_bcond(e, len ? COND_NE : COND_HI, no);
	else if (len || pred->test == FILTER_SUFFIX)
		a64_bcond(e, COND_LO, no);
	if (pred->test == FILTER_SUFFIX) {
		a64_op(e, OP_ADD | OP_X, R_ADDRESS, R_ADDRESS, R_B);
		a64_add(e, R_ADDRESS, R_ADDRESS, -(int64_t)len - 1);
	}
	put_bytes(p, want, len, no);
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

void make_filter_early(struct gen *g, label_t drop)
{
	put_filter(g, true, drop);
}

bool make_filter_late(struct gen *g, label_t drop)
{
	return put_filter(g, false, drop);
}
