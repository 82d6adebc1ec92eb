/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A hit of a histogram. */

#include <string.h>

#include "engine/event/record.h"
#include "engine/trigger/hist_value.h"
#include "engine/trigger/set.h"
#include "engine/trigger/trigger.h"

static void make_key(const struct hist_run *run, uint8_t *key)
{
	const struct hist *hist = run->hist;

	memset(key, 0, HIST_KEY_MAX);
	for (size_t i = hist->n_values; i < hist->n_fields; i++) {
		const struct hist_field *field = hist->fields[i];
		struct synth_value value = hist_value(run, field);

		if (value.bytes)
			memcpy(key + field->offset, value.bytes,
			       value.len < field->size ? value.len : field->size);
		else
			memcpy(key + field->offset, &value.number, sizeof(value.number));
	}
}

/* The variables of other histograms, or of this one. False: one has no value. */
static bool resolve(struct hist_run *run, const uint8_t *key, bool own)
{
	for (size_t i = 0; i < run->hist->n_refs; i++) {
		const struct hist_field *ref = run->hist->refs[i];
		struct hist_entry *entry;
		struct hist_var *var;

		if ((ref->var_hist == run->hist) != own)
			continue;
		if (ref->var_hist->key_size != run->hist->key_size)
			return false;
		entry = hist_map_find(&ref->var_hist->map, key);
		if (!entry || !entry->vars[ref->var].is_set)
			return false;
		var = &entry->vars[ref->var];
		run->refs[i] = (struct synth_value){ var->number, var->bytes, var->len };
		if (!own && ref->read_once)
			var->is_set = false;
	}
	return true;
}

static void set_var(struct hist_entry *entry, unsigned number, const struct synth_value *value)
{
	hist_var_set(&entry->vars[number], value->number, value->bytes, value->len);
}

static void copy(const struct hist_run *run, struct hist_entry *entry,
		 const struct hist_copy *copies, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct synth_value value = hist_value(run, copies[i].from);

		set_var(entry, copies[i].var->var, &value);
	}
}

static void update(const struct hist_run *run, struct hist_entry *entry)
{
	const struct hist *hist = run->hist;

	for (size_t i = 0; i < hist->n_values; i++) {
		const struct hist_field *field = hist->fields[i];
		struct synth_value value = hist_value(run, field);

		if (field->flags & HIST_VAR)
			set_var(entry, field->var, &value);
		else
			entry->sums[i] += value.number;
	}
	copy(run, entry, hist->copies, hist->n_copies);
}

static void make_event(const struct hist_run *run, const struct hist_doer *doer)
{
	struct synth_value values[SYNTH_FIELDS_MAX];

	for (size_t i = 0; i < doer->n_params; i++)
		values[i] = run->refs[doer->refs[i]];
	synth_happen(run->set, doer->makes, values, run->record);
}

static bool is_better(const struct hist_doer *doer, uint64_t value, uint64_t best)
{
	return doer->handler == HIST_ONMAX ? value > best : value != best;
}

static void take_snapshot(const struct hist_run *run, const struct hist_doer *doer,
			  const struct hist_entry *entry, uint64_t value)
{
	struct track *track = doer->track;

	if (!is_better(doer, value, track->value))
		return;
	track->value = value;
	track->is_taken = true;
	memcpy(track->comm, entry->comm, sizeof(track->comm));
	memcpy(track->key, entry->key, run->hist->key_size);
	trigger_snapshot(run->set);
}

static void act(const struct hist_run *run, const struct hist_doer *doer,
		struct hist_entry *entry)
{
	if (doer->handler != HIST_ONMATCH) {
		uint64_t value = run->refs[doer->watched_ref->ref].number;
		struct hist_var *best = &entry->vars[doer->best->var];

		if (!is_better(doer, value, best->number))
			return;
		hist_var_set(best, value, NULL, 0);
		if (doer->action == HIST_SNAPSHOT)
			take_snapshot(run, doer, entry, value);
		else if (doer->action == HIST_SAVE)
			copy(run, entry, run->hist->saved, run->hist->n_saved);
	}
	if (doer->action == HIST_TRACE)
		make_event(run, doer);
}

void hist_hit(struct trigger_set *set, struct hist *hist, const struct event_record *record)
{
	struct hist_run run = { .set = set, .hist = hist, .record = record };
	uint8_t key[HIST_KEY_MAX];
	struct hist_entry *entry;
	bool is_new;

	make_key(&run, key);
	if (!resolve(&run, key, false))
		return;
	entry = hist_map_hit(&hist->map, key, 1, &is_new);
	if (!entry)
		return;
	if (is_new && hist->has_comm)
		memcpy(entry->comm, record->comm, sizeof(entry->comm));
	update(&run, entry);
	if (!resolve(&run, key, true))
		return;
	for (size_t i = 0; i < hist->n_doers; i++)
		act(&run, hist->doers[i], entry);
}
