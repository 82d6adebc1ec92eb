/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hits that are counted where they happen (base/tally_table.h). The data is fetched to where it would be recorded, so all that
 * reads the program is that of a record, and what cannot be counted becomes one: its head is written, which else is not, and it
 * is complete. What was counted gives back the room.
 */

#include "arch/gen_record.h"
#include "engine/base/tally_table.h"

/* --- what can be counted ------------------------------------------------------------------- */

const char *detour_why_no_tally(const struct tally_plan *tally,
				const struct fetch_program *program)
{
	bool has_string = false;

	if (tally_has_stack(tally))
		return "a key is the stack";
	if (tally->is_told)
		return "they are events, too";
	for (unsigned i = 0; i < tally->n_keys; i++) {
		if (tally->keys[i].source != TALLY_STRING)
			continue;
		/* One more would have its bytes where the first one's last word is filled up. */
		if (has_string || program->has_strings != 1)
			return "several strings are fetched";
		has_string = true;
	}
	if (tally_slot(tally) > TALLY_SLOT_MAX)
		return "its entries are too large";
	return NULL;
}

static bool is_done(const struct gen *g, const struct detour_probe *probe)
{
	const struct tally_plan *tally = probe->tally;

	return tally && !probe->stops && (!probe->sample || gen_samples(g, probe)) &&
	       g->isa->records->tallies && g->plan->tally.at && !g->plan->frames &&
	       !detour_why_no_tally(tally, probe->program) &&
	       (tally_has_table(tally) ? tally_slot(tally) <= g->plan->tally.slot
				       : probe->number < TALLY_COUNTERS);
}

/* It needs no record to tell whether a hit is taken. */
static bool samples_early(const struct gen *g, const struct detour_probe *probe)
{
	return !gen_samples(g, probe) || gen_sample_is_early(g, probe);
}

bool gen_tally_is_bare(const struct gen *g, const struct detour_probe *probe)
{
	return is_done(g, probe) && !tally_has_table(probe->tally) &&
	       !gen_filter_is_late(g, probe) && samples_early(g, probe);
}

/* Nothing of it is read from memory: then there is no record, until one is needed. */
static bool is_quick(const struct gen *g)
{
	return !detour_needs_acc(g->probe->program) && !gen_filter_is_late(g, g->probe) &&
	       samples_early(g, g->probe);
}

const struct fetch_op *gen_tally_source(const struct gen *g, const struct tally_field *field)
{
	return is_quick(g) ? detour_arg_at(g->probe->program, field->at) : NULL;
}

/* --- what becomes a record --------------------------------------------------------------- */

static void put_record(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->tallies->restore(g);
	g->isa->records->head(g);
	gen_sample_mark(g);
	gen_record_end(g, a->n);
	g->isa->jump(&g->e, a->on);
}

static void put_full(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->tallies->restore(g);
	g->isa->records->head(g);
	gen_sample_mark(g);
	g->isa->records->tallies->note_full(g);
	gen_record_end(g, a->n);
	g->isa->jump(&g->e, a->on);
}

static void aside(struct gen *g, void (*put)(struct gen *g, const struct gen_aside *a),
		  label_t at, label_t on, uint32_t max)
{
	gen_put_aside(g, &(struct gen_aside){ .put = put, .at = at, .on = on, .n = max });
}

/* --- a probe --------------------------------------------------------------------------------- */

/* What gen_record() does in place of a record, where there is data to look at, for the filter or the key. */
static void count_record(struct gen *g, label_t done)
{
	const struct gen_records *isa = g->isa->records;
	uint32_t max = gen_record_max(g);

	if (tally_has_table(g->probe->tally)) {
		label_t full = emit_label(&g->e), cannot = emit_label(&g->e);

		isa->tallies->entry(g, full, cannot);
		aside(g, put_record, cannot, done, max);
		aside(g, put_full, full, done, max);
	} else {
		isa->tallies->count(g);
	}
	isa->give_back(g, max, done);
}

/* All of it, as gen_record() has it. */
static void put_whole(struct gen *g, const struct gen_aside *a)
{
	const struct gen_records *isa = g->isa->records;
	label_t lost = emit_label(&g->e);

	emit_set(&g->e, a->at);
	isa->reserve(g, a->n, g->plan->lossless ? a->other : lost);
	isa->head(g);
	gen_sample_mark(g);
	if (a->is_full)
		g->isa->records->tallies->note_full(g);
	gen_data(g);
	gen_record_end(g, a->n);
	g->isa->jump(&g->e, a->on);
	emit_set(&g->e, lost);
	isa->count_lost(g);
	g->isa->jump(&g->e, a->on);
}

static void quickly(struct gen *g, label_t trap, size_t i)
{
	label_t full = emit_label(&g->e), cannot = emit_label(&g->e), done = emit_label(&g->e);
	label_t undo = emit_label(&g->e);
	struct gen_aside whole = {
		.put = put_whole, .on = done, .other = trap, .n = gen_record_max(g)
	};

	g->isa->records->tallies->entry(g, full, cannot);
	emit_set(&g->e, done);
	g->out->filters_done |= 1u << (g->n_before + i);
	g->fail = undo;
	whole.at = full;
	whole.is_full = true;
	gen_put_aside(g, &whole);
	whole.at = cannot;
	whole.is_full = false;
	gen_put_aside(g, &whole);
	gen_record_undo(g, undo, trap);
}

/* By the thread's entry. */
static void put_by_entry(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	g->isa->records->find_thread(g);
	g->isa->records->tallies->count(g);
	g->isa->jump(&g->e, a->on);
}

static void count_bare(struct gen *g)
{
	label_t other, done;

	if (gen_samples(g, g->probe)) {
		g->isa->records->tallies->count(g);
	} else if (!g->plan->self_at) {
		g->isa->records->find_thread(g);
		g->isa->records->tallies->count(g);
	} else {
		other = emit_label(&g->e);
		done = emit_label(&g->e);
		g->isa->records->tallies->count_quick(g, other);
		emit_set(&g->e, done);
		gen_put_aside(
			g, &(struct gen_aside){ .put = put_by_entry, .at = other, .on = done });
	}
}

bool gen_tally(struct gen *g, label_t trap, size_t i)
{
	if (!is_done(g, g->probe))
		return false;
	if (!gen_tally_is_bare(g, g->probe) && !is_quick(g)) {
		gen_record(g, trap, i, count_record);
		return true;
	}
	g->fail = trap;
	if (gen_tally_is_bare(g, g->probe)) {
		count_bare(g);
		g->out->filters_done |= 1u << (g->n_before + i);
	} else {
		if (!gen_sample_is_early(g, g->probe))
			g->isa->records->find_thread(g);
		quickly(g, trap, i);
	}
	return true;
}

void gen_tally_ask(struct gen *g, const struct detour_probe *probe)
{
	const struct gen_scan *scan = g->isa->scan;
	label_t on = emit_label(&g->e);
	uint32_t more;

	if (!g->plan->tally.asks_when_full || !probe->tally)
		return;
	more = scan->bell->regs & ~g->early;
	g->isa->move_regs(g, true, more);
	scan->bell->ring(g, true, on, on);
	emit_set(&g->e, on);
	g->isa->move_regs(g, false, more);
}
