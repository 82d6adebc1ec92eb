/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Handlers and actions: what they are carried out with. */

#include <errno.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_make.h"
#include "engine/trigger/set.h"
#include "engine/trigger/trigger.h"

static int fail(struct hist *hist, const char *text, const char *token)
{
	return trigger_log_token(&hist->set->log, EINVAL, text, token);
}

/* A variable that takes field @name of this event at each hit. */
static int make_copy(struct hist *hist, const char *name, struct hist_copy *ret)
{
	char *text = pool_text(&hist->pool, name, strlen(name));
	unsigned flags = HIST_VAR;
	int rc = text ? hist_parse_atom(hist, text, &flags, NULL, &ret->from) : -ENOMEM;

	if (rc < 0) {
		fail(hist, "Couldn't parse field variable", name);
		return rc;
	}
	ret->var = hist_var_make(hist, name, ret->from->size, ret->from->type);
	return ret->var ? 0 : fail(hist, "Couldn't create or find variable", name);
}

static bool same_keys(const struct hist *a, const struct hist *b)
{
	if (a->n_fields - a->n_values != b->n_fields - b->n_values)
		return false;
	for (size_t i = 0; i < a->n_fields - a->n_values; i++) {
		const struct hist_field *x = a->fields[a->n_values + i],
					*y = b->fields[b->n_values + i];

		if (strcmp(x->type, y->type) != 0 || x->size != y->size ||
		    x->is_signed != y->is_signed)
			return false;
	}
	return true;
}

static struct trigger *find_like(const struct hist *hist, const struct trigger_event *event)
{
	for (struct trigger *t = event->triggers; t; t = t->next)
		if (t->kind == TRIGGER_HIST && same_keys(hist, t->hist))
			return t;
	return NULL;
}

static const char *inner_text(struct hist *hist, const struct trigger *like, const char *name)
{
	struct sink_buf text = { 0 };
	const char *ret;

	for (size_t i = like->hist->n_values; i < like->hist->n_fields; i++)
		sink_buf_printf(&text, "%s%s", i > like->hist->n_values ? "," : "keys=",
				hist_field_name(like->hist->fields[i]));
	sink_buf_printf(&text, ":synthetic_%s=%s", name, name);
	if (like->filter_text)
		sink_buf_printf(&text, " if %s", like->filter_text);
	ret = text.failed ? NULL : pool_text(&hist->pool, text.data, text.len);
	sink_buf_free(&text);
	return ret;
}

/* A histogram on another event, with a variable for its field @name: that variable. */
static struct hist_field *make_inner(struct hist *hist, const char *system,
				     const char *event_name, const char *name)
{
	struct trigger_event *event = trigger_set_find(hist->set, system, event_name);
	const char *var_name = pool_format(&hist->pool, "synthetic_%s", name), *text;
	struct hist_field *var;
	struct trigger *like;

	if (!event || !var_name) {
		fail(hist, "Event file not found", name);
		return NULL;
	}
	like = find_like(hist, event);
	if (!like) {
		fail(hist, "Matching event histogram not found", name);
		return NULL;
	}
	var = hist_var_find(hist, system, event_name, var_name);
	if (var)
		return var;
	text = inner_text(hist, like, name);
	if (!text || hist_command_inner(hist->set, event, text, false) < 0) {
		fail(hist, "Couldn't create histogram for field", name);
		return NULL;
	}
	hist->inner[hist->n_inner++] = (struct hist_inner){ event, text, like->hist };
	return hist_var_find(hist, system, event_name, var_name);
}

/* A field of this event, else of the one that is matched. */
static struct hist_field *find_field(struct hist *hist, const struct hist_doer *doer,
				     const char *system, const char *event_name,
				     const char *name)
{
	struct hist_copy copy = { 0 };
	bool own = !system || (strcmp(system, hist->event->group) == 0 &&
			       strcmp(event_name, hist->event->name) == 0);

	if (own && hist->n_copies < SYNTH_FIELDS_MAX && make_copy(hist, name, &copy) == 0) {
		hist->copies[hist->n_copies++] = copy;
		return copy.var;
	}
	if (!system && doer->handler == HIST_ONMATCH) {
		system = doer->system;
		event_name = doer->event_name;
	}
	return system ? make_inner(hist, system, event_name, name) : NULL;
}

static struct hist_field *find_var(struct hist *hist, const struct hist_doer *doer,
				   const char *system, const char *event_name, const char *name)
{
	bool own = !system || (strcmp(system, hist->event->group) == 0 &&
			       strcmp(event_name, hist->event->name) == 0);
	struct hist_field *var = own ? hist_var_in(hist, name) : NULL;

	if (!var && !system && doer->handler == HIST_ONMATCH) {
		system = doer->system;
		event_name = doer->event_name;
	}
	if (!var)
		var = hist_var_find(hist, system, event_name, name);
	if (!var)
		fail(hist, "Couldn't find param", name);
	return var;
}

/* May field number @i of the event be given @var? */
static bool is_fitting(const struct synth *synth, size_t i, const struct hist_field *var)
{
	const struct synth_field *field = &synth->fields[i];

	if (i >= synth->n_fields)
		return false;
	if (strstr(var->type, "char[") && field->is_string && field->is_dynamic)
		return true;
	if (strstr(var->type, "long[") && field->is_stack)
		return true;
	if (strcmp(field->kernel_type, var->type) == 0)
		return true;
	/* Stacks count as signed. */
	return field->size == var->size &&
	       (field->is_string || (field->is_signed || field->is_stack) == var->is_signed);
}

static int take_param(struct hist *hist, struct hist_doer *doer, size_t i)
{
	char *param = pool_text(&hist->pool, doer->params[i], strlen(doer->params[i]));
	char *system, *event_name = NULL;
	struct hist_field *var, *ref;

	if (!param)
		return -ENOMEM;
	system = strsep(&param, ".");
	if (!param) {
		param = system;
		system = NULL;
	} else {
		event_name = strsep(&param, ".");
		if (!param)
			return -EINVAL;
	}
	var = *param == '$' ? find_var(hist, doer, system, event_name, param + 1)
			    : find_field(hist, doer, system, event_name, param);
	if (!var)
		return -EINVAL;
	if (!is_fitting(doer->makes->synth, i, var))
		return fail(hist, "Param type doesn't match synthetic event field type", param);
	ref = hist_ref_make(hist, var, system, event_name);
	if (!ref)
		return -ENOMEM;
	doer->refs[i] = ref->ref;
	return 0;
}

static int make_trace(struct hist *hist, struct hist_doer *doer)
{
	const char *name = doer->synth ? doer->synth : doer->word;
	struct trigger_event *event = synth_find(hist->set, name);

	if (!event)
		return fail(hist, "Couldn't find synthetic event", name);
	doer->makes = event;
	event->synth->n_users++;
	for (size_t i = 0; i < doer->n_params; i++) {
		int rc = take_param(hist, doer, i);

		if (rc < 0)
			return rc;
	}
	if (doer->n_params != event->synth->n_fields)
		return fail(hist, "Param count doesn't match synthetic event field count",
			    event->name);
	return 0;
}

static int make_save(struct hist *hist, struct hist_doer *doer)
{
	if (hist->n_saved)
		return trigger_log_at(&hist->set->log, EEXIST,
				      "Can't have more than one save() action per hist", 0);
	for (size_t i = 0; i < doer->n_params; i++) {
		int rc = make_copy(hist, doer->params[i], &hist->saved[hist->n_saved]);

		if (rc < 0) {
			fail(hist, "Couldn't create field variable", doer->params[i]);
			return rc;
		}
		hist->n_saved++;
	}
	return 0;
}

static int make_snapshot(struct hist *hist, struct hist_doer *doer)
{
	if (hist->set->snapshot_by)
		return -EBUSY;
	doer->track = pool_get(&hist->pool, sizeof(*doer->track));
	if (!doer->track)
		return -ENOMEM;
	doer->track->doer = doer;
	doer->track->hist = hist;
	hist->set->snapshot_by = doer->track;
	hist->set->has_snapshot = true;
	return 0;
}

static int watch(struct hist *hist, struct hist_doer *doer)
{
	struct hist_field *var;

	if (doer->watched[0] != '$')
		return fail(hist, "For onmax(x) or onchange(x), x must be a variable",
			    doer->watched);
	var = hist_var_in(hist, doer->watched + 1);
	if (!var)
		return fail(hist, "Couldn't find onmax or onchange variable",
			    doer->watched + 1);
	doer->watched_ref = hist_ref_make(hist, var, NULL, NULL);
	if (!doer->watched_ref)
		return -ENOMEM;
	doer->best = hist_var_make(hist, doer->handler == HIST_ONMAX ? "__max" : "__change", 8,
				   "u64");
	if (!doer->best)
		return trigger_log_at(&hist->set->log, EINVAL,
				      "Couldn't create onmax or onchange variable", 0);
	return 0;
}

int hist_make_doers(struct hist *hist)
{
	for (size_t i = 0; i < hist->n_doers; i++) {
		struct hist_doer *doer = hist->doers[i];
		int rc = doer->watched ? watch(hist, doer) : 0;

		if (rc == 0)
			rc = doer->action == HIST_TRACE  ? make_trace(hist, doer)
			     : doer->action == HIST_SAVE ? make_save(hist, doer)
							 : make_snapshot(hist, doer);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void hist_undo_doers(struct hist *hist)
{
	for (size_t i = 0; i < hist->n_doers; i++) {
		struct hist_doer *doer = hist->doers[i];

		if (doer->makes)
			doer->makes->synth->n_users--;
		if (doer->track && hist->set->snapshot_by == doer->track)
			hist->set->snapshot_by = NULL;
	}
	hist->n_doers = hist->n_refs = 0;
	for (size_t i = hist->n_inner; i-- > 0;)
		hist_command_inner(hist->set, hist->inner[i].event, hist->inner[i].text, true);
	hist->n_inner = 0;
}
