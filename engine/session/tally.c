/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/base/texts.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/apart_counts.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/tally_taken.h"
#include "engine/spec/spec.h"
#include "engine/tally/tally.h"
#include "engine/tally/text.h"
#include "engine/ubp_tally.h"

struct session_tally {
	const struct ubp_session *session;
	struct tally_text text;
	struct tally_plan plan; /* of the first probe: what all have alike */
	uint32_t table;
	struct texts functions; /* that probes are in */
	bool has_files;         /* they are in several: functions are told with theirs */
	struct ubp_tally now;
};

void session_tally_free(struct ubp_session *s)
{
	if (!s->out.tally)
		return;
	tally_free(s->out.tally->now.own);
	texts_free(&s->out.tally->functions);
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

static bool is_large(const struct tally_key *key)
{
	return !key->field.is_signed && key->field.size == sizeof(uint64_t);
}

/*
 * One column has the numbers of several probes. They may have signs in some of them alone, then all are shown with theirs; but of 64 bits without
 * one, which may be the same as a negative one's. False: no number tells them apart.
 */
static bool take_signs(struct tally_plan *all, const struct tally_plan *more)
{
	for (unsigned i = 0; i < all->n_keys; i++) {
		struct tally_key *key = &all->keys[i];
		const struct tally_key *its = &more->keys[i];

		if (key->source != TALLY_NUMBER || its->source != TALLY_NUMBER)
			continue;
		if (key->field.is_signed ? is_large(its)
					 : its->field.is_signed && is_large(key))
			return false;
		/* The first large one that comes decides. */
		if (is_large(its) || its->field.is_signed)
			key->field = its->field;
	}
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

/* The function that probe @i is in, by number. */
static int number_function(struct ubp_session *s, struct session_tally *t, size_t i,
			   uint32_t *ret_number)
{
	const char *path = definitions_spec(s->defined, i)->path, *file = strrchr(path, '/');
	char *function = definitions_function(s->defined, i), *text = NULL;
	int64_t number = -ENOMEM;

	if (function && asprintf(&text, "%s%s%s%s", function, t->has_files ? " [" : "",
				 !t->has_files ? ""
				 : file        ? file + 1
					       : path,
				 t->has_files ? "]" : "") < 0)
		text = NULL;
	if (text)
		number = texts_number(&t->functions, text, strlen(text));
	free(function);
	free(text);
	*ret_number = (uint32_t)number;
	return number < 0 ? (int)number : 0;
}

static bool has_key(const struct tally_plan *plan, enum tally_source source)
{
	for (unsigned i = 0; i < plan->n_keys; i++)
		if (plan->keys[i].source == source)
			return true;
	return false;
}

static bool are_in_several_files(const struct ubp_session *s)
{
	const struct spec_probe *first = definitions_spec(s->defined, 0), *spec;

	for (size_t i = 1; i < definitions_n(s->defined); i++) {
		spec = definitions_spec(s->defined, i);
		if (spec->dev != first->dev || spec->ino != first->ino)
			return true;
	}
	return false;
}

static int bind(struct ubp_session *s, struct session_tally *t, size_t i, struct map *events,
		struct ubp_err *err)
{
	const struct spec_probe *spec = definitions_spec(s->defined, i);
	struct tally_plan plan;
	int rc = tally_text_bind(&t->text, spec, &plan, err);

	if (rc < 0)
		return rc;
	if (tally_has_stack(&plan) && s->opt.stack == UBP_STACK_NONE)
		return ubp_fail(err, EINVAL, "no stacks are recorded that could be counted by");
	if (i == 0) {
		name_keys(&t->text, &plan, spec);
		t->plan = plan;
		rc = counting_add(s, &plan, t->text.size, &t->table);
	} else if (!is_alike(&t->plan, &plan)) {
		return ubp_fail(err, EINVAL, "event %s: its arguments have other types",
				spec->event);
	} else if (!take_signs(&t->plan, &plan)) {
		return ubp_fail(err, EINVAL,
				"event %s: a key has a sign here, or elsewhere, and 64 bits "
				"without one in the other: give both a sign, or neither",
				spec->event);
	}
	plan.event = event_of(s, events, i);
	plan.table = t->table;
	if (rc == 0 && has_key(&plan, TALLY_FUNCTION))
		rc = number_function(s, t, i, &plan.function);
	if (rc == 0)
		rc = counting_set(s, i, &plan, NULL);
	return rc < 0 ? ubp_fail(err, -rc, "%s", strerror(-rc)) : 0;
}

int ubp_tally(struct ubp_session *s, const char *text, struct ubp_err *err)
{
	struct map events = { 0 };
	int rc = ubp_need(text, "text of what to count", err);
	size_t n;

	if (rc == 0 && !s->tracing.apart)
		rc = session_check_new(s, err);
	if (rc == 0 && s->tracing.apart)
		return apart_tally(s, text, err);
	n = rc == 0 ? definitions_n(s->defined) : 0;
	if (rc == 0 && s->out.counting)
		rc = ubp_fail(err, EBUSY, "the session counts already");
	if (rc == 0 && n == 0)
		rc = ubp_fail(err, EINVAL, "nothing is defined to be counted");
	if (rc < 0)
		return rc;
	s->out.tally = calloc(1, sizeof(*s->out.tally));
	if (!s->out.tally)
		return ubp_fail(err, ENOMEM, "out of memory");
	s->out.tally->session = s;
	s->out.tally->has_files = are_in_several_files(s);
	rc = tally_text_parse(text, &s->out.tally->text, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = bind(s, s->out.tally, i, &events, err);
	map_free(&events);
	if (rc < 0) {
		session_tally_free(s);
		counting_free(s);
	}
	return rc;
}

int ubp_tally_events(struct ubp_session *s, struct ubp_err *err)
{
	int rc = s->tracing.apart ? 0 : session_check_new(s, err);

	if (s->tracing.apart)
		return apart_tally_events(s, err);
	if (rc == 0 && !s->out.tally)
		rc = ubp_fail(err, EINVAL, "the session does not count");
	if (rc == 0)
		counting_tell(s);
	return rc;
}

const char *ubp_tally_explain(struct ubp_session *s, size_t i)
{
	if (s->tracing.apart)
		return apart_text(s, APART_TALLY_EXPLAIN, i);
	return s->out.tally ? counting_explain(s, i) : NULL;
}

/* --- what there is ------------------------------------------------------------------------- */

const struct ubp_tally *ubp_tally_take(struct ubp_session *s)
{
	struct session_tally *t = s->out.tally;

	if (s->tracing.apart)
		return apart_tally_take(s);
	if (!t)
		return NULL;
	tally_free(t->now.own);
	t->now.of = t;
	t->now.all = counting_look(s, t->table, &t->now.own);
	return t->now.all ? &t->now : NULL;
}

size_t ubp_tally_n(const struct ubp_tally *tally)
{
	return tally->copy ? tally->copy->n : tally_n(tally->all);
}

uint64_t ubp_tally_hits(const struct ubp_tally *tally)
{
	return tally->copy ? tally->copy->hits : tally_hits(tally->all);
}

uint64_t ubp_tally_dropped(const struct ubp_tally *tally)
{
	return tally->copy ? tally->copy->dropped : tally_dropped(tally->all);
}

static enum ubp_tally_kind kind_of(const struct tally_key *key)
{
	if (key->source == TALLY_STRING || key->source == TALLY_COMM ||
	    key->source == TALLY_FUNCTION)
		return UBP_TALLY_STRING;
	if (key->source == TALLY_STACK)
		return UBP_TALLY_STACK;
	if (key->source == TALLY_EVENT)
		return UBP_TALLY_PROBE;
	if (key->scale == TALLY_LOG2)
		return UBP_TALLY_LOG2;
	if (key->scale == TALLY_BUCKETS)
		return UBP_TALLY_BUCKETS;
	return key->field.is_signed ? UBP_TALLY_SIGNED : UBP_TALLY_NUMBER;
}

static const char *text_of(const struct session_tally *t, const struct tally_key *key,
			   const struct tally_part *part)
{
	if (key->source == TALLY_FUNCTION)
		return texts_get(&t->functions, part->number);
	if (key->source == TALLY_STACK)
		return counting_stack(t->session, part->number);
	return part->text;
}

void ubp_tally_row(const struct ubp_tally *tally, size_t i, struct ubp_tally_row *ret)
{
	const struct session_tally *t = tally->of;
	struct tally_row row;

	if (tally->copy) {
		*ret = tally->copy->rows[i];
		return;
	}
	tally_row(tally->all, i, &row);
	*ret = (struct ubp_tally_row){ .n_keys = t->plan.n_keys,
				       .n_values = t->plan.n_values,
				       .hits = row.hits };
	for (unsigned k = 0; k < t->plan.n_keys; k++)
		ret->keys[k] = (struct ubp_tally_part){
			.kind = kind_of(&t->plan.keys[k]),
			.number = row.keys[k].number,
			.width = t->plan.keys[k].bucket,
			.is_signed = t->plan.keys[k].field.is_signed,
			.text = text_of(t, &t->plan.keys[k], &row.keys[k]),
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
