/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Filters as machine code, up to twice: first with what registers and pointers tell, so
 * that most hits that are not wanted are gone before anything is written; then, if that
 * could not tell all, with the record.
 */

#include "arch/gen.h"

/* One pass over a filter. */
struct pass {
	struct gen *g;
	const struct gen_filters *isa;
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
	return (struct detour_look){ .plan = g->plan,
				     .probe = probe,
				     .late_reg = g->isa->filters->late_reg,
				     .early = early };
}

struct detour_early gen_filter_look(const struct gen *g, const struct detour_probe *probe)
{
	struct detour_look look = look_at(g, probe, true);

	return detour_look_early(&look);
}

bool gen_filter_is_late(const struct gen *g, const struct detour_probe *probe)
{
	struct detour_early early = gen_filter_look(g, probe);

	return probe->filter && (early.unsure || early.loads);
}

/* --- numbers ------------------------------------------------------------------------------ */

/* The register of the program that has the value of @arg as it is, or negative. */
static int live_value(const struct pass *p, const struct filter_pred *pred,
		      const struct fetch_op *arg)
{
	if (!arg || pred->size < 4 || pred->size > p->g->isa->bits / 8 ||
	    pred->test == FILTER_IN_SET)
		return -1;
	if (arg->code != FETCH_REG || arg[1].code != FETCH_STORE_VALUE || arg[1].bit_width)
		return -1;
	return p->isa->live(p->g, arg->reg);
}

/* The value, extended to 32 or 64 bits, in a register that is returned. */
static int number(struct pass *p, const struct filter_pred *pred)
{
	const struct fetch_op *arg = NULL;
	int live;

	if (p->early && pred->source == FILTER_FROM_DATA)
		arg = detour_arg_of(p->g->probe->program, pred);
	live = live_value(p, pred, arg);
	if (live >= 0)
		return live;
	p->isa->number(p->g, pred, arg);
	return p->isa->scratch;
}

static void go(struct pass *p, label_t to)
{
	if (to != p->next)
		p->g->isa->jump(&p->g->e, to);
}

static void go_if(struct pass *p, unsigned cond, label_t to)
{
	p->g->isa->jump_if(&p->g->e, cond, to);
}

static void branch(struct pass *p, unsigned cond, label_t yes, label_t no)
{
	if (yes == p->next) {
		go_if(p, cond ^ 1, no);
		return;
	}
	go_if(p, cond, yes);
	go(p, no);
}

static void put_number(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	unsigned cond = p->isa->compare(p->g, pred, number(p, pred));

	if (pred->test == FILTER_IN_SET) {
		const uint8_t *set = p->filter->bytes + pred->text;

		/* The code must not look behind the set. */
		go_if(p, cond ^ 1, no);
		cond = p->isa->in_set(p->g, pred,
				      gen_literal(p->g, set, (pred->value + 7) / 8));
	}
	branch(p, cond, yes, no);
}

/* --- texts -------------------------------------------------------------------------------- */

/* To @no if the text's bytes are others. */
static void put_bytes(struct pass *p, const uint8_t *want, uint32_t len, label_t no)
{
	uint32_t at = 0;

	for (uint32_t piece = p->g->isa->bits / 8; piece; piece = piece > 4 ? 4 : piece / 4)
		for (; len - at >= piece; at += piece)
			p->isa->compare_bytes(p->g, want + at, at, piece, no);
}

static void put_text(struct pass *p, const struct filter_pred *pred, label_t yes, label_t no)
{
	const uint8_t *want = p->filter->bytes + pred->text;
	uint32_t len = pred->text_len;

	p->isa->text(p->g, pred);
	p->isa->compare_length(p->g, len + 1);
	if (pred->test == FILTER_SAME)
		/* what could not be read is as empty as what is empty */
		go_if(p, len ? p->isa->not_equal : p->isa->above, no);
	else if (len || pred->test == FILTER_SUFFIX)
		go_if(p, p->isa->below, no);
	if (pred->test == FILTER_SUFFIX)
		p->isa->skip_to_tail(p->g, len);
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
		go(p, p->early ? label_of(p, detour_other_way(pred)) : p->pass);
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
		.isa = g->isa->filters,
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

void gen_filter_early(struct gen *g, label_t drop)
{
	put_filter(g, true, drop);
}

bool gen_filter_late(struct gen *g, label_t drop)
{
	return put_filter(g, false, drop);
}
