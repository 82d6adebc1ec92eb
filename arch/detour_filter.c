/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What filters tell before a detour's code is written. */

#include <stdlib.h>

#include "arch/detour_parts.h"

/* Longer texts and larger sets are left to the reader. */
#define TEXT_MAX 128
#define SET_MAX  4096

const struct fetch_op *detour_arg_of(const struct fetch_program *program,
				     const struct filter_pred *pred)
{
	const struct fetch_op *op = program->ops, *end = op + program->n_ops;

	while (op < end) {
		const struct fetch_op *store = detour_store_of(op);

		if (store->at == pred->at)
			return store->size == pred->size && store->count == 0 &&
					       store->code <= FETCH_STORE_MEM
				       ? op
				       : NULL;
		op = store + 1;
	}
	return NULL;
}

/* Is a string's word at .at? */
static bool has_string(const struct fetch_program *program, const struct filter_pred *pred)
{
	for (const struct fetch_op *op = program->ops; op < program->ops + program->n_ops; op++)
		if (op->code >= FETCH_STORE_STRING && op->code != FETCH_STORE_X87 &&
		    pred->at >= op->at && pred->at - op->at < 4u * (op->count ? op->count : 1u))
			return (pred->at - op->at) % 4 == 0;
	return false;
}

static bool is_known_text(const struct filter_pred *pred)
{
	return pred->test != FILTER_MIDDLE && pred->test != FILTER_GLOB &&
	       pred->text_len <= TEXT_MAX;
}

/* Is a register that it takes known only later? */
static bool is_late(const struct detour_look *look, const struct fetch_op *op)
{
	if (look->late_reg == FETCH_NO_REG)
		return false;
	for (; !detour_is_store(op); op++)
		if ((op->code == FETCH_REG && op->reg == look->late_reg) ||
		    (op->code == FETCH_SUM &&
		     (op->reg == look->late_reg || op->index == look->late_reg)))
			return true;
	return false;
}

/* A number of the record's data. */
static enum detour_pred data_number(const struct detour_look *look,
				    const struct filter_pred *pred)
{
	const struct fetch_op *op;

	if (!look->early)
		return DETOUR_NUMBER;
	op = detour_arg_of(look->probe->program, pred);
	return op && !is_late(look, op) ? DETOUR_NUMBER : DETOUR_UNKNOWN;
}

enum detour_pred detour_pred_of(const struct detour_look *look, const struct filter_pred *pred)
{
	const struct fetch_program *program = look->probe->program;
	bool is_data = pred->source == FILTER_FROM_DATA;
	uint32_t size = detour_is_text(pred) ? 4 : pred->size;

	if (filter_is_float(pred))
		return DETOUR_UNKNOWN; /* detours use no vector registers */
	if (is_data && (uint64_t)pred->at + size > program->fixed_size)
		return DETOUR_UNKNOWN;
	if (detour_is_text(pred) && (!is_data || !has_string(program, pred)))
		return DETOUR_UNKNOWN;
	if (detour_is_text(pred))
		return !look->early && is_known_text(pred) ? DETOUR_TEXT : DETOUR_UNKNOWN;
	if (pred->test == FILTER_IN_SET && pred->value > SET_MAX)
		return DETOUR_UNKNOWN;
	if (pred->test == FILTER_NEVER || pred->source == FILTER_FROM_NOWHERE ||
	    pred->source == FILTER_FROM_FUNC || pred->source == FILTER_FROM_COMM)
		return DETOUR_CONST;
	if (pred->source == FILTER_FROM_IP)
		return DETOUR_NUMBER;
	if (is_data)
		return data_number(look, pred);
	return look->early ? DETOUR_UNKNOWN : DETOUR_NUMBER;
}

/* --- constants ------------------------------------------------------------------------ */

bool detour_outcome(const struct detour_look *look, const struct filter_pred *pred)
{
	const struct detour_probe *probe = look->probe;
	uint64_t func = probe->kind == PROBE_RETURN ? look->plan->site : 0;
	uint64_t value = pred->source == FILTER_FROM_FUNC ? func : 0;

	value = filter_extend(value, pred->size, pred->is_signed);
	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		return value == pred->value;
	case FILTER_LT:
		return pred->is_signed ? (int64_t)value < (int64_t)pred->value
				       : value < pred->value;
	case FILTER_LE:
		return pred->is_signed ? (int64_t)value <= (int64_t)pred->value
				       : value <= pred->value;
	case FILTER_AND:
		return value & pred->value;
	case FILTER_IS_CPU:
		return value < pred->value;
	case FILTER_IN_SET:
		return value < pred->value && value < SET_MAX &&
		       (probe->filter->bytes[pred->text + value / 8] >> (value % 8) & 1);
	default:
		return false;
	}
}

uint16_t detour_other_way(const struct filter_pred *pred)
{
	if (pred->on_false == FILTER_DROP)
		return pred->on_true;
	return pred->on_true == FILTER_DROP ? pred->on_false : FILTER_PASS;
}

/* --- which are reached ------------------------------------------------------------------ */

static void reach(bool *reached, const struct filter *filter, uint16_t next)
{
	if (next < filter->n_preds)
		reached[next] = true;
}

/* What code for it takes. */
static void note_needs(struct detour_early *early, const struct detour_look *look,
		       const struct filter_pred *pred)
{
	const struct fetch_op *op;

	early->wide |= pred->size == 8;
	early->far |= pred->size == 8 && pred->value != (uint64_t)(int32_t)pred->value;
	if (pred->source != FILTER_FROM_DATA)
		return;
	op = detour_arg_of(look->probe->program, pred);
	early->sums |= op->code == FETCH_SUM;
	for (; !detour_is_store(op); op++)
		early->loads |= op->code == FETCH_STACK || op->code == FETCH_DEREF;
	early->loads |= op->code == FETCH_STORE_MEM;
}

bool detour_stops(const struct fetch_program *program, const struct filter *filter)
{
	if (program->needs_comm)
		return true;
	for (uint32_t i = 0; filter && i < filter->n_preds; i++)
		if (filter->preds[i].source == FILTER_FROM_COMM)
			return true;
	return false;
}

bool detour_may_drop(const struct fetch_program *program, const struct filter *filter,
		     enum probe_kind kind)
{
	const struct detour_plan plan = { .n_probes = 1 };
	struct detour_probe probe = { .kind = kind, .program = program, .filter = filter };
	struct detour_look look = {
		.plan = &plan, .probe = &probe, .late_reg = FETCH_NO_REG, .early = true
	};

	return detour_look_early(&look).useful;
}

struct detour_early detour_look_early(const struct detour_look *look)
{
	const struct filter *filter = look->probe->filter;
	struct detour_early early = { .unsure = true };
	bool *reached = filter ? calloc(filter->n_preds, 1) : NULL;

	if (!reached)
		return early;
	early.unsure = false;
	reached[0] = true;
	for (uint16_t i = 0; i < filter->n_preds; i++) {
		const struct filter_pred *pred = &filter->preds[i];
		enum detour_pred kind = detour_pred_of(look, pred);

		if (!reached[i])
			continue;
		if (kind == DETOUR_UNKNOWN) {
			early.unsure = true;
			reach(reached, filter, detour_other_way(pred));
			continue;
		}
		early.useful = true;
		if (kind == DETOUR_CONST) {
			reach(reached, filter,
			      detour_outcome(look, pred) ? pred->on_true : pred->on_false);
			continue;
		}
		reach(reached, filter, pred->on_true);
		reach(reached, filter, pred->on_false);
		note_needs(&early, look, pred);
	}
	free(reached);
	return early;
}

bool detour_does_filter(const struct fetch_program *program, const struct filter *filter,
			enum probe_kind kind)
{
	const struct detour_plan plan = { .n_probes = 1 };
	struct detour_probe probe = { .kind = kind, .program = program, .filter = filter };
	struct detour_look look = {
		.plan = &plan, .probe = &probe, .late_reg = FETCH_NO_REG, .early = false
	};

	for (uint32_t i = 0; filter && i < filter->n_preds; i++)
		if (detour_pred_of(&look, &filter->preds[i]) == DETOUR_UNKNOWN)
			return false;
	return true;
}
