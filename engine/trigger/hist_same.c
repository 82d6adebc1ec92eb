/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* When two texts mean one histogram. */

#include <string.h>

#include "engine/trigger/field.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_make.h"
#include "engine/trigger/trigger.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_source(const struct trigger_field *a, const struct trigger_field *b)
{
	if (a == b)
		return true;
	return a && b && strcmp(a->name, b->name) == 0 && strcmp(a->type, b->type) == 0 &&
	       a->size == b->size && a->is_signed == b->is_signed;
}

/* The processor has several names; another one is another field. */
static const char *cpu_name(const struct hist_field *field)
{
	return field->flags & HIST_CPU ? hist_field_name(field) : NULL;
}

static bool same_field(const struct hist_field *a, const struct hist_field *b)
{
	return a->flags == b->flags && same_source(a->field, b->field) &&
	       a->offset == b->offset && a->size == b->size && a->is_signed == b->is_signed &&
	       same_text(a->var_name, b->var_name) && same_text(cpu_name(a), cpu_name(b));
}

static bool same_doer(const struct hist_doer *a, const struct hist_doer *b)
{
	if (a->handler != b->handler || a->action != b->action || a->n_params != b->n_params)
		return false;
	for (size_t i = 0; i < a->n_params; i++)
		if (strcmp(a->params[i], b->params[i]) != 0)
			return false;
	return strcmp(a->synth ? a->synth : a->word, b->synth ? b->synth : b->word) == 0 &&
	       same_text(a->system, b->system) && same_text(a->event_name, b->event_name) &&
	       same_text(a->watched, b->watched);
}

static bool same_hist(const struct hist *a, const struct hist *b)
{
	if (a->n_values != b->n_values || a->n_fields != b->n_fields ||
	    a->n_sorts != b->n_sorts || a->n_doers != b->n_doers)
		return false;
	for (size_t i = 0; i < a->n_fields; i++)
		if (!same_field(a->fields[i], b->fields[i]))
			return false;
	for (size_t i = 0; i < a->n_sorts; i++)
		if (a->sorts[i].value != b->sorts[i].value ||
		    a->sorts[i].descending != b->sorts[i].descending)
			return false;
	for (size_t i = 0; i < a->n_doers; i++)
		if (!same_doer(a->doers[i], b->doers[i]))
			return false;
	return true;
}

bool hist_is_same(const struct trigger *a, const struct trigger *b, const struct trigger *named,
		  bool ignore_filter)
{
	if (named && named != b && named != b->named)
		return false;
	if (!named && b->name)
		return false;
	if (!ignore_filter && !same_text(a->filter_text, b->filter_text))
		return false;
	return same_hist(a->hist, b->hist);
}
