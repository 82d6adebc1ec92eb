/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/base/tally_table.h"
#include "engine/define/definitions.h"
#include "engine/event/ring_tally.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/spec/spec.h"
#include "engine/tally/tally.h"
#include "engine/tally/text.h"
#include "engine/ubp_tally.h"

struct session_tally {
	struct tally_text text;
	struct tally_plan plan; /* of the first probe: what all have alike */
	char why[80];
	struct tally *taken; /* of records, and of threads that have no ring any more */
	struct ubp_tally {
		const struct session_tally *of;
		struct tally *all; /* with what the others have */
	} now;
};

/* --- counting ---------------------------------------------------------------------------- */

static void count_in(struct ubp_session *s, struct tally *tally, const struct ring_count *count)
{
	const struct uprobe *probe = live_probe(s, count->probe);

	if (probe && probe->at_hit.tally)
		tally_count(tally, probe->at_hit.tally, count);
}

static void on_counted(void *ctx, const struct ring_count *count)
{
	struct ubp_session *s = ctx;
	struct uprobe *probe = live_probe(s, count->probe);

	count_in(s, s->out.tally->taken, count);
	if (!probe)
		return;
	__atomic_store_n(&probe->stats.ring_hits, probe->stats.ring_hits + count->hits,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&probe->stats.ring_passed, probe->stats.ring_passed + count->hits,
			 __ATOMIC_RELAXED);
}

static void on_there(void *ctx, const struct ring_count *count)
{
	struct ubp_session *s = ctx;

	count_in(s, s->out.tally->now.all, count);
}

bool session_tally_took(struct ubp_session *s, const struct event_record *record)
{
	const struct uprobe *probe;

	if (!s->out.tally || record->kind != EVENT_HIT)
		return false;
	probe = live_probe(s, record->probe);
	if (!probe || !probe->at_hit.tally)
		return false;
	tally_record(s->out.tally->taken, probe->at_hit.tally, record);
	return true;
}

void session_tally_free(struct ubp_session *s)
{
	if (!s->out.tally)
		return;
	tally_free(s->out.tally->taken);
	tally_free(s->out.tally->now.all);
	free(s->out.tally);
	s->out.tally = NULL;
}

/* --- the plan ------------------------------------------------------------------------------ */

static bool is_alike(const struct tally_plan *a, const struct tally_plan *b)
{
	for (unsigned i = 0; i < a->n_keys; i++)
		if ((a->keys[i].source == TALLY_STRING) != (b->keys[i].source == TALLY_STRING))
			return false;
	for (unsigned i = 0; i < a->n_values; i++)
		if (a->values[i].field.is_signed != b->values[i].field.is_signed)
			return false;
	return true;
}

/* The first probe of the same event, which may have several places. */
static uint32_t event_of(const struct ubp_session *s, struct map *events, size_t i)
{
	const struct spec_probe *spec = definitions_spec(s->defined, i), *first;
	uint64_t hash = hash_text(hash_text(0, spec->group), spec->event);
	size_t known = (size_t)(uintptr_t)map_get(events, hash);

	if (known) {
		first = definitions_spec(s->defined, known - 1);
		if (strcmp(first->group, spec->group) == 0 &&
		    strcmp(first->event, spec->event) == 0)
			return (uint32_t)known - 1;
	}
	(void)map_put(events, hash, (void *)(uintptr_t)(i + 1));
	return (uint32_t)i;
}

/* An arg that was told by its number is shown by its name. */
static void name_keys(struct tally_text *text, const struct tally_plan *plan,
		      const struct spec_probe *spec)
{
	for (unsigned i = 0; i < plan->n_keys; i++)
		if (plan->keys[i].source <= TALLY_STRING)
			(void)snprintf(text->keys[i].shown, sizeof(text->keys[i].shown), "%s",
				       spec->args[plan->keys[i].field.arg].name);
}

static int bind(struct ubp_session *s, struct session_tally *t, size_t i, struct map *events,
		struct ubp_err *err)
{
	struct uprobe *probe = definitions_uprobe(s->defined, i);
	struct tally_plan plan;
	int rc = tally_text_bind(&t->text, definitions_spec(s->defined, i), &plan, err);

	if (rc < 0)
		return rc;
	plan.event = event_of(s, events, i);
	if (i == 0)
		name_keys(&t->text, &plan, definitions_spec(s->defined, 0));
	if (i == 0)
		t->plan = plan;
	else if (!is_alike(&t->plan, &plan))
		return ubp_fail(err, EINVAL, "event %s: its arguments have other types",
				definitions_spec(s->defined, i)->event);
	probe->at_hit.tally = malloc(sizeof(plan));
	if (!probe->at_hit.tally)
		return ubp_fail(err, ENOMEM, "out of memory");
	*probe->at_hit.tally = plan;
	return 0;
}

int ubp_tally(struct ubp_session *s, const char *text, struct ubp_err *err)
{
	size_t n = definitions_n(s->defined);
	struct map events = { 0 };
	int rc = session_check_new(s, err);

	if (rc == 0 && s->out.tally)
		rc = ubp_fail(err, EBUSY, "the session counts already");
	if (rc == 0 && n == 0)
		rc = ubp_fail(err, EINVAL, "nothing is defined to be counted");
	if (rc < 0)
		return rc;
	s->out.tally = calloc(1, sizeof(*s->out.tally));
	if (!s->out.tally)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = tally_text_parse(text, &s->out.tally->text, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = bind(s, s->out.tally, i, &events, err);
	map_free(&events);
	if (rc == 0)
		s->out.tally->taken = tally_new(&s->out.tally->plan, s->out.tally->text.size);
	if (rc == 0 && !s->out.tally->taken)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc < 0)
		session_tally_free(s);
	else if (s->out.rings)
		ring_set_tally(s->out.rings, tally_slot(&s->out.tally->plan), on_counted, s);
	return rc;
}

const char *ubp_tally_explain(struct ubp_session *s, size_t i)
{
	const struct uprobe *probe = definitions_uprobe(s->defined, i);
	struct session_tally *t = s->out.tally;
	const char *why;

	if (!t || !probe->at_hit.tally)
		return NULL;
	if (s->no_jumps || definitions_stop(s->defined, i))
		return "counted at its stops";
	why = probe->arch->detour.tallies
		      ? detour_why_no_tally(probe->at_hit.tally, probe->program)
		      : "there is no code for that on this machine";
	if (!why && s->opt.stack != UBP_STACK_NONE)
		why = "stacks are recorded";
	if (!why)
		return "counted in the target";
	(void)snprintf(t->why, sizeof(t->why), "counted from its records: %s", why);
	return t->why;
}

/* --- what there is ------------------------------------------------------------------------- */

const struct ubp_tally *ubp_tally_take(struct ubp_session *s)
{
	struct session_tally *t = s->out.tally;

	if (!t)
		return NULL;
	tally_free(t->now.all);
	t->now.of = t;
	t->now.all = tally_new(&t->plan, t->text.size);
	if (!t->now.all)
		return NULL;
	tally_merge(t->now.all, t->taken);
	if (s->out.rings)
		ring_set_count(s->out.rings, on_there, s);
	return &t->now;
}

size_t ubp_tally_n(const struct ubp_tally *tally)
{
	return tally_n(tally->all);
}

uint64_t ubp_tally_hits(const struct ubp_tally *tally)
{
	return tally_hits(tally->all);
}

uint64_t ubp_tally_dropped(const struct ubp_tally *tally)
{
	return tally_dropped(tally->all);
}

static enum ubp_tally_kind kind_of(const struct tally_key *key)
{
	if (key->source == TALLY_STRING || key->source == TALLY_COMM)
		return UBP_TALLY_STRING;
	if (key->source == TALLY_EVENT)
		return UBP_TALLY_PROBE;
	if (key->scale == TALLY_LOG2)
		return UBP_TALLY_LOG2;
	if (key->scale == TALLY_BUCKETS)
		return UBP_TALLY_BUCKETS;
	return key->field.is_signed ? UBP_TALLY_SIGNED : UBP_TALLY_NUMBER;
}

void ubp_tally_row(const struct ubp_tally *tally, size_t i, struct ubp_tally_row *ret)
{
	const struct session_tally *t = tally->of;
	struct tally_row row;

	tally_row(tally->all, i, &row);
	*ret = (struct ubp_tally_row){ .n_keys = t->plan.n_keys,
				       .n_values = t->plan.n_values,
				       .hits = row.hits };
	for (unsigned k = 0; k < t->plan.n_keys; k++)
		ret->keys[k] = (struct ubp_tally_part){
			.kind = kind_of(&t->plan.keys[k]),
			.number = row.keys[k].number,
			.width = t->plan.keys[k].bucket,
			.text = row.keys[k].text,
			.name = t->text.keys[k].shown[0] ? t->text.keys[k].shown
							 : t->text.keys[k].name,
		};
	for (unsigned k = 0; k < t->plan.n_values; k++)
		ret->values[k] = (struct ubp_tally_part){
			.kind = t->plan.values[k].field.is_signed ? UBP_TALLY_SIGNED
								  : UBP_TALLY_NUMBER,
			.number = row.values[k],
			.name = t->text.values[k].name,
		};
}
