/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One record: the thread and its ring, room in it, all of the record, and what ends it. */

#include "arch/gen_record.h"

/* Bytes that the stack takes at most. */
static uint32_t stack_max(const struct gen *g)
{
	return g->plan->frames ? 8 + 8u * g->plan->frames : 0;
}

static void put_stack(struct gen *g)
{
	uint32_t cell = (g->probe->cell + detour_cells(g->probe->program)) % RING_CELLS;
	const struct gen_stacks *isa = g->isa->stacks;
	label_t done = emit_label(&g->e);

	isa->begin(g);
	g->read = (struct gen_read){ .kind = GEN_READ_NOT };
	if (g->plan->frames > 1)
		isa->walk(g, cell, done);
	emit_set(&g->e, done);
	isa->end(g);
}

uint32_t gen_record_max(const struct gen *g)
{
	return detour_record_max(g->probe->program, g->probe->kind) + stack_max(g);
}

/* What its fixed size does not tell, and its end. */
void gen_record_end(struct gen *g, uint32_t max)
{
	const struct gen_records *isa = g->isa->records;

	if (g->probe->program->has_strings)
		isa->note_length(g);
	if (g->plan->frames)
		put_stack(g);
	if (g->probe->program->has_strings || g->plan->frames)
		isa->shorten(g, max);
	else
		isa->store_size(g, max);
	isa->commit(g);
}

static void put_lost(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->count_lost(g);
	g->isa->jump(&g->e, a->on);
}

static void put_undo(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->give_back(g, a->n, a->on);
}

static void put_drop(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	if (g->plan->count_dropped)
		g->isa->records->count_dropped(g);
	g->isa->records->give_back(g, a->n, a->on);
}

void gen_record_undo(struct gen *g, label_t at, label_t on)
{
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_undo, .at = at, .on = on, .n = gen_record_max(g) });
}

/* The record is what is wanted. */
static void complete(struct gen *g, label_t done)
{
	(void)done;
	gen_record_end(g, gen_record_max(g));
	if (g->probe->once && g->isa->records->switch_off)
		g->isa->records->switch_off(g, g->probe->number);
}

void gen_record(struct gen *g, label_t trap, size_t i, gen_end_fn *counted)
{
	uint32_t max = gen_record_max(g);
	const struct gen_records *isa = g->isa->records;
	bool has_filter = gen_filter_is_late(g, g->probe), passed;
	label_t lost = emit_label(&g->e), undo = emit_label(&g->e), drop = emit_label(&g->e);
	label_t done = emit_label(&g->e);

	g->fail = trap;
	if (!gen_sample_is_early(g, g->probe))
		isa->find_thread(g);
	isa->reserve(g, max, g->plan->lossless ? trap : lost);
	g->fail = undo;
	if (!counted)
		isa->head(g);
	gen_data(g);
	passed = !has_filter || gen_filter_late(g, drop);
	if (passed)
		g->out->filters_done |= 1u << (g->n_before + i);
	else if (counted)
		isa->head(g);
	if (passed && gen_samples(g, g->probe) && !gen_sample_is_early(g, g->probe))
		gen_sample_late(g, done);
	if (passed && !counted)
		gen_sample_mark(g);
	if (g->probe->stops)
		g->isa->jump(&g->e, g->fail);
	else
		(passed && counted ? counted : complete)(g, done);
	emit_set(&g->e, done);
	if (!g->plan->lossless)
		gen_put_aside(g,
			      &(struct gen_aside){ .put = put_lost, .at = lost, .on = done });
	if (has_filter)
		gen_put_aside(g, &(struct gen_aside){
					 .put = put_drop, .at = drop, .on = done, .n = max });
	gen_record_undo(g, undo, trap);
}
