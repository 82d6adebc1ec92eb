/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Variables of histograms: which one a name means, and who uses it. */

#include <errno.h>
#include <string.h>

#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/set.h"
#include "engine/trigger/trigger.h"

struct hist_field *hist_var_in(const struct hist *hist, const char *name)
{
	for (size_t i = 0; i < hist->n_fields; i++) {
		struct hist_field *field = hist->fields[i];

		if (field->flags & HIST_VAR && strcmp(field->var_name, name) == 0)
			return field;
	}
	return NULL;
}

static struct hist_field *var_of_event(const struct trigger_event *event, const char *name)
{
	for (const struct trigger *t = event->triggers; t; t = t->next) {
		struct hist_field *var =
			t->kind == TRIGGER_HIST ? hist_var_in(t->hist, name) : NULL;

		if (var)
			return var;
	}
	return NULL;
}

struct hist_field *hist_var_near(const struct hist *hist, const char *name)
{
	struct hist_field *var = hist_var_in(hist, name);

	return var ? var : var_of_event(hist->event, name);
}

static void not_unique(struct hist *hist, const char *name)
{
	trigger_log_token(&hist->set->log, EINVAL,
			  "Variable name not unique, need to use fully qualified name "
			  "(subsys.event.var) for variable",
			  name);
}

/* Of the events that handlers name. False: there are several. */
static bool find_matched(struct hist *hist, const char *name, struct hist_field **ret)
{
	for (size_t i = 0; i < hist->n_doers; i++) {
		const struct hist_doer *doer = hist->doers[i];
		const struct trigger_event *event;
		struct hist_field *var;

		if (doer->handler != HIST_ONMATCH)
			continue;
		event = trigger_set_find(hist->set, doer->system, doer->event_name);
		var = event ? var_of_event(event, name) : NULL;
		if (var && *ret) {
			not_unique(hist, name);
			return false;
		}
		if (var)
			*ret = var;
	}
	return true;
}

/* Of all events. */
static struct hist_field *find_any(struct hist *hist, const char *name)
{
	const struct trigger_event *found = NULL;

	for (size_t i = 0; i < hist->set->n_var_hists; i++) {
		const struct hist *other = hist->set->var_hists[i];

		if (other->event == found || !hist_var_in(other, name))
			continue;
		if (found) {
			not_unique(hist, name);
			return NULL;
		}
		found = other->event;
	}
	return found ? var_of_event(found, name) : NULL;
}

struct hist_field *hist_var_find(struct hist *hist, const char *system, const char *event_name,
				 const char *name)
{
	struct hist_field *var = NULL;

	if (system && event_name) {
		const struct trigger_event *event =
			trigger_set_find(hist->set, system, event_name);

		return event ? var_of_event(event, name) : NULL;
	}
	if (!find_matched(hist, name, &var))
		return NULL;
	return var ? var : find_any(hist, name);
}

struct hist_field *hist_var_make(struct hist *hist, const char *name, unsigned size,
				 const char *type)
{
	struct hist_field *var;

	if ((hist_var_near(hist, name) && !hist->removes) || hist->n_vars >= HIST_VARS_MAX)
		return NULL;
	var = pool_get(&hist->pool, sizeof(*var));
	if (!var)
		return NULL;
	var->flags = HIST_VAR;
	var->var = (unsigned)hist->n_vars++;
	var->var_hist = hist;
	var->size = size;
	var->type = type;
	var->var_name = pool_text(&hist->pool, name, strlen(name));
	return var->var_name ? var : NULL;
}

struct hist_field *hist_ref_make(struct hist *hist, const struct hist_field *var,
				 const char *system, const char *event_name)
{
	struct hist_field *ref;

	for (size_t i = 0; i < hist->n_refs; i++)
		if (hist->refs[i]->var == var->var && hist->refs[i]->var_hist == var->var_hist)
			return hist->refs[i];
	if (hist->n_refs >= HIST_VARS_MAX)
		return NULL;
	ref = hist_field_new(hist, NULL, HIST_REF, NULL);
	if (!ref)
		return NULL;
	ref->var = var->var;
	ref->var_hist = var->var_hist;
	ref->size = var->size;
	ref->is_signed = var->is_signed;
	/* Not that it is a string: such a one may be an operand. */
	ref->flags |= var->flags & (HIST_TIME | HIST_USECS | HIST_STACK);
	ref->name = var->var_name ? pool_text(&hist->pool, var->var_name, strlen(var->var_name))
				  : "";
	ref->type = pool_text(&hist->pool, var->type, strlen(var->type));
	if (system)
		ref->system = pool_text(&hist->pool, system, strlen(system));
	if (event_name)
		ref->event_name = pool_text(&hist->pool, event_name, strlen(event_name));
	if (!ref->name || !ref->type)
		return NULL;
	ref->ref = (unsigned)hist->n_refs;
	hist->refs[hist->n_refs++] = ref;
	return ref;
}

static bool refers(const struct hist *from, const struct hist *to)
{
	for (size_t i = 0; i < from->n_refs; i++)
		if (from->refs[i]->var_hist == to)
			return true;
	return false;
}

bool hist_is_used(const struct hist *hist)
{
	for (size_t i = 0; i < hist->set->n_var_hists; i++)
		if (hist->set->var_hists[i] != hist && refers(hist->set->var_hists[i], hist))
			return true;
	return false;
}
