/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A histogram as a plan, and what was counted by that as a histogram. Parts of the plan's key are the histogram's, in this order, but for
 * fields that are the same at all hits; its values are those of arguments.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/filter_program.h"
#include "engine/base/tally_plan.h"
#include "engine/sink/buf.h"
#include "engine/spec/filter.h"
#include "engine/tally/tally.h"
#include "engine/trigger/event.h"
#include "engine/trigger/field.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/set.h"
#include "engine/trigger/trigger.h"

/* --- can there be one? ------------------------------------------------------------ */

static struct tally_field field_of(const struct trigger_event *event,
				   const struct trigger_field *field)
{
	return (struct tally_field){
		.at = field->at,
		.size = (uint8_t)field->size,
		.is_signed = field->is_signed,
		.arg = (uint16_t)(field - event->fields),
	};
}

static bool is_fixed(const struct hist_field *key)
{
	return key->field && key->field->source == FIELD_FIXED && !(key->flags & HIST_CPU);
}

static const char *why_no_key(const struct hist_field *key)
{
	if (key->flags & (HIST_EXPR | HIST_CONST))
		return "a key is computed";
	if (key->flags & HIST_STACK)
		return "a key is a stack";
	if (key->flags & HIST_TIME)
		return "a key is a time";
	if (key->flags & HIST_EXECNAME)
		return "a key's first hit tells the thread's name";
	if (key->flags & HIST_STRING && key->flags & (HIST_LOG2 | HIST_BUCKET))
		return "a string is scaled";
	if (key->flags & HIST_CPU)
		return NULL;
	if (!key->field || key->field->form == FIELD_FIXED_TEXT)
		return "a key is no argument";
	if (key->field->source == FIELD_IP || key->field->source == FIELD_FUNC)
		return "a key is an address";
	return NULL;
}

static const char *add_key(struct tally_plan *plan, const struct trigger_event *event,
			   const struct hist_field *key)
{
	struct tally_key *to = &plan->keys[plan->n_keys];
	const char *why = why_no_key(key);

	if (why || is_fixed(key))
		return why;
	if (key->flags & HIST_CPU)
		to->source = TALLY_CPU;
	else if (key->field->source == FIELD_TID)
		to->source = TALLY_TID;
	else
		to->source = key->flags & HIST_STRING ? TALLY_STRING : TALLY_NUMBER;
	if (to->source <= TALLY_STRING)
		to->field = field_of(event, key->field);
	if (key->flags & HIST_LOG2)
		to->scale = TALLY_LOG2;
	if (key->flags & HIST_BUCKET) {
		to->scale = TALLY_BUCKETS;
		to->bucket = key->buckets;
	}
	plan->n_keys++;
	return NULL;
}

static const char *add_value(struct tally_plan *plan, const struct trigger_event *event,
			     const struct hist_field *value)
{
	if (value->flags & HIST_HITCOUNT)
		return NULL;
	if (value->flags & HIST_EXPR)
		return "a value is computed";
	if (value->flags & (HIST_CONST | HIST_CPU | HIST_TIME | HIST_STRING | HIST_STACK) ||
	    !value->field || value->field->source != FIELD_IN_DATA)
		return "a value is no number among the arguments";
	plan->values[plan->n_values++] =
		(struct tally_value){ .kind = TALLY_SUM,
				      .field = field_of(event, value->field) };
	return NULL;
}

static const char *plan_fields(const struct hist *hist, struct tally_plan *plan)
{
	const char *why = NULL;

	if (hist->n_vars || hist->n_refs || hist->n_doers)
		return "it has variables or actions";
	for (size_t i = 0; i < hist->n_values && !why; i++)
		why = add_value(plan, hist->event, hist->fields[i]);
	for (size_t i = hist->n_values; i < hist->n_fields && !why; i++)
		why = add_key(plan, hist->event, hist->fields[i]);
	/* Of more keys than there is room for, the first ones have entries. */
	plan->has_first = plan->n_keys != 0;
	return why;
}

static unsigned count_strings(const struct trigger_event *event)
{
	unsigned n = 0;

	for (size_t i = 0; i < event->n_fields; i++)
		n += event->fields[i].form == FIELD_TEXT;
	return n;
}

/* Of several strings one that cannot be read is taken for the next one (trigger_passes()), which others do not know. */
static const char *why_no_filter(const struct trigger_event *event, const struct filter *filter)
{
	for (uint32_t i = 0; filter && i < filter->n_preds; i++) {
		const struct filter_pred *pred = &filter->preds[i];

		if (pred->source == FILTER_FROM_COMM)
			return "its filter asks for the thread's name";
		if (pred->test >= FILTER_SAME && count_strings(event) > 1)
			return "its filter looks at one of several strings";
	}
	return NULL;
}

bool trigger_has_hist(const struct trigger_event *event)
{
	for (const struct trigger *t = event->triggers; t; t = t->next)
		if (t->kind == TRIGGER_HIST)
			return true;
	return false;
}

const char *trigger_plan(const struct trigger_event *event, struct tally_plan *ret_plan,
			 const struct filter **ret_filter)
{
	const struct trigger *trigger = event->triggers;
	const char *why;

	*ret_plan = (struct tally_plan){ 0 };
	if (!trigger_has_hist(event) || event->synth)
		return "it has no hits of its own";
	if (trigger->next)
		return "its event has several triggers";
	if (trigger->hist->n_users > 1)
		return "other events share it";
	if (trigger->is_paused)
		return "it is paused";
	if (!event->is_muted)
		return "its event is told, too";
	/* All of its own triggers are one. */
	if (event->n_soft > 1)
		return "another event's trigger switches it";
	*ret_filter = trigger->filter;
	why = why_no_filter(event, trigger->filter);
	return why ? why : plan_fields(trigger->hist, ret_plan);
}

/* --- what was counted --------------------------------------------------------------- */

static uint64_t number_of(const struct hist_field *key, const struct tally_row *row, unsigned i)
{
	uint64_t number;

	if (!is_fixed(key))
		return key->flags & HIST_BUCKET ? row->keys[i].number * key->buckets
						: row->keys[i].number;
	number = filter_extend(key->field->at, key->field->size, key->field->is_signed);
	if (key->flags & HIST_LOG2)
		return num_log2(number);
	return key->flags & HIST_BUCKET ? number / key->buckets * key->buckets : number;
}

static void make_key(const struct hist *hist, const struct tally_row *row, uint8_t *key)
{
	unsigned n = 0;

	memset(key, 0, HIST_KEY_MAX);
	for (size_t i = hist->n_values; i < hist->n_fields; i++) {
		const struct hist_field *field = hist->fields[i];
		uint64_t number;

		if (!is_fixed(field) && row->keys[n].text) {
			memcpy(key + field->offset, row->keys[n].text,
			       strnlen(row->keys[n].text, field->size - 1));
		} else {
			number = number_of(field, row, n);
			memcpy(key + field->offset, &number, sizeof(number));
		}
		n += !is_fixed(field);
	}
}

static void add_row(struct hist *hist, const struct tally_row *row)
{
	uint8_t key[HIST_KEY_MAX];
	struct hist_entry *entry;
	unsigned n = 0;
	bool is_new;

	make_key(hist, row, key);
	entry = hist_map_hit(&hist->map, key, row->hits, &is_new);
	for (size_t i = 0; entry && i < hist->n_values; i++)
		entry->sums[i] +=
			hist->fields[i]->flags & HIST_HITCOUNT ? row->hits : row->values[n++];
}

/* Of a histogram without variables. */
static void add_all(struct hist_map *to, const struct hist_map *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct hist_entry *entry;
		bool is_new;

		entry = hist_map_hit(to, from->entries[i]->key, 0, &is_new);
		if (entry)
			memcpy(entry->sums, from->entries[i]->sums, sizeof(entry->sums));
	}
	to->hits += from->hits;
	to->drops += from->drops;
}

struct place {
	uint64_t first, first_ticks;
	size_t i;
};

static int by_age(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->first_ticks != y->first_ticks)
		return x->first_ticks < y->first_ticks ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static int add_rows(struct hist *hist, const struct tally *counted)
{
	size_t n = tally_n(counted);
	struct place *places = calloc(n + 1, sizeof(*places));
	struct tally_row row;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		tally_row(counted, i, &row);
		places[i] = (struct place){ row.first, row.first_ticks, i };
	}
	qsort(places, n, sizeof(*places), by_age);
	for (size_t i = 0; i < n; i++) {
		tally_row(counted, places[i].i, &row);
		add_row(hist, &row);
	}
	free(places);
	hist->map.drops += tally_dropped(counted);
	return 0;
}

int hist_count_in(struct hist *hist, const struct tally *counted, struct hist_map *ret_own)
{
	*ret_own = hist->map;
	hist->map = (struct hist_map){ .bits = ret_own->bits, .key_size = ret_own->key_size };
	add_all(&hist->map, ret_own);
	return add_rows(hist, counted);
}

void hist_count_out(struct hist *hist, const struct hist_map *own)
{
	hist_map_clear(&hist->map);
	hist->map = *own;
}

void hist_print_counted(struct trigger_set *set, const struct trigger *trigger,
			const struct tally *counted, hist_print_fn *print, struct sink_buf *out)
{
	struct hist_map own;

	if (hist_count_in(trigger->hist, counted, &own) < 0)
		out->failed = -ENOMEM;
	print(set, trigger, out);
	hist_count_out(trigger->hist, &own);
}
