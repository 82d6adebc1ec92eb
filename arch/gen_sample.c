/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which hits are taken (base/sample_plan.h). Where nothing of the program's memory tells that, it is asked right behind the filter, with
 * few registers saved; else once the data is there, and what is left out gives back its room. A hit that was
 * taken and can't be recorded is put back before its trap: the tracer counts it then.
 */

#include "arch/gen_record.h"
#include "engine/base/sample_plan.h"

bool gen_samples(const struct gen *g, const struct detour_probe *probe)
{
	return probe->sample && g->isa->records->samples && g->plan->tally.samples &&
	       probe->number < SAMPLE_WORDS;
}

/* What makes the argument's value, where that is in a register of the program; NULL: it is not, or hits are counted. */
static const struct fetch_op *source_of(const struct detour_probe *probe)
{
	const struct fetch_program *program = probe->program;
	const struct fetch_op *op;

	if (!probe->sample->has_field)
		return NULL;
	op = detour_arg_at(program, probe->sample->field.at);
	return op + 1 < detour_end_of(program) && op->code == FETCH_REG &&
			       op[1].code == FETCH_STORE_VALUE
		       ? op
		       : NULL;
}

bool gen_sample_is_early(const struct gen *g, const struct detour_probe *probe)
{
	return gen_samples(g, probe) && !gen_filter_is_late(g, probe) &&
	       (!probe->sample->has_field || source_of(probe));
}

void gen_sample_mark(struct gen *g)
{
	if (gen_samples(g, g->probe))
		g->isa->records->samples->mark(g);
}

/* --- early ------------------------------------------------------------------------------ */

static void put_left_out(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->samples->count_left_out(g);
	g->isa->jump(&g->e, a->on);
}

static void put_back(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->samples->put_back(g, source_of(g->probe));
	g->isa->jump(&g->e, a->on);
}

void gen_sample_early(struct gen *g, label_t skip)
{
	label_t left_out = g->plan->count_dropped ? emit_label(&g->e) : skip;

	g->isa->records->find_thread(g);
	g->isa->records->samples->take(g, source_of(g->probe), left_out);
	if (g->plan->count_dropped)
		gen_put_aside(g, &(struct gen_aside){
					 .put = put_left_out, .at = left_out, .on = skip });
}

label_t gen_sample_back(struct gen *g, label_t trap)
{
	label_t at = emit_label(&g->e);

	gen_put_aside(g, &(struct gen_aside){ .put = put_back, .at = at, .on = trap });
	return at;
}

/* --- late ------------------------------------------------------------------------------- */

static void put_left_out_late(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	if (g->plan->count_dropped)
		g->isa->records->samples->count_left_out(g);
	g->isa->records->give_back(g, a->n, a->on);
}

static void put_back_late(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->samples->put_back(g, NULL);
	g->isa->jump(&g->e, a->on);
}

void gen_sample_late(struct gen *g, label_t done)
{
	label_t skip = emit_label(&g->e), back = emit_label(&g->e);

	g->isa->records->samples->take(g, NULL, skip);
	gen_put_aside(g, &(struct gen_aside){ .put = put_left_out_late,
					      .at = skip,
					      .on = done,
					      .n = gen_record_max(g) });
	gen_put_aside(g,
		      &(struct gen_aside){ .put = put_back_late, .at = back, .on = g->fail });
	g->fail = back;
}
