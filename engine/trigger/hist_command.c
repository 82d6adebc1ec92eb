/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command hist: made, controlled, removed. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_make.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"
#include "engine/trigger/trigger.h"

/* "PARAM if FILTER": *ret_filter begins with the if, NULL: there is none. */
static int cut_filter(char *param, char **ret_filter)
{
	size_t len = strlen(param);

	*ret_filter = NULL;
	for (char *p = param; (p = strstr(p, "if")); p++) {
		if (p == param)
			return -EINVAL;
		if (p[-1] != ' ' && p[-1] != '\t')
			continue;
		if (p >= param + len - 3)
			return -EINVAL;
		if (p[2] != ' ' && p[2] != '\t')
			continue;
		p[-1] = '\0';
		*ret_filter = text_strip(p);
		text_strip(param);
		return 0;
	}
	return 0;
}

static struct trigger *find_named(const struct trigger_set *set, const char *name)
{
	for (size_t i = 0; name && i < set->n_named; i++)
		if (!set->named[i]->named && strcmp(set->named[i]->name, name) == 0)
			return set->named[i];
	return NULL;
}

static struct trigger *find_same(const struct trigger *trigger, const struct trigger *named)
{
	for (struct trigger *t = trigger->event->triggers; t; t = t->next)
		if (t->kind == TRIGGER_HIST && hist_is_same(trigger, t, named, false))
			return t;
	return NULL;
}

/* --- the end of one --------------------------------------------------------------- */

static void forget_hist(struct trigger_set *set, const struct hist *hist)
{
	for (size_t i = 0; i < set->n_var_hists; i++)
		if (set->var_hists[i] == hist) {
			memmove(set->var_hists + i, set->var_hists + i + 1,
				(--set->n_var_hists - i) * sizeof(*set->var_hists));
			return;
		}
}

static void forget_name(struct trigger_set *set, const struct trigger *trigger)
{
	struct trigger *heir = NULL;

	for (size_t i = 0; i < set->n_named; i++)
		if (set->named[i] == trigger) {
			memmove(set->named + i, set->named + i + 1,
				(--set->n_named - i) * sizeof(*set->named));
			break;
		}
	/* Those that share its entries share those of the next from now on. */
	for (size_t i = 0; i < set->n_named; i++) {
		if (set->named[i]->named != trigger)
			continue;
		set->named[i]->named = heir;
		if (!heir)
			heir = set->named[i];
	}
}

static void end_hist(struct hist *hist)
{
	if (--hist->n_users > 0)
		return;
	forget_hist(hist->set, hist);
	hist_undo_doers(hist);
	hist_free(hist);
}

static void drop(struct trigger_set *set, struct trigger *trigger)
{
	struct hist *hist = trigger->hist;

	trigger_unlink(trigger);
	if (trigger->name)
		forget_name(set, trigger);
	if (trigger->event->synth)
		trigger->event->synth->n_users--;
	trigger_free(trigger);
	end_hist(hist);
}

void hist_drop_all(struct trigger_set *set, struct trigger_event *event)
{
	for (struct trigger *t = event->triggers; t;) {
		if (t->kind == TRIGGER_HIST) {
			drop(set, t);
			t = event->triggers; /* others may have gone with it */
		} else
			t = t->next;
	}
}

void trigger_truncate(struct trigger_set *set, struct trigger_event *event)
{
	bool used = false;

	for (struct trigger *t = event->triggers; t; t = t->next)
		used |= t->kind == TRIGGER_HIST && hist_is_used(t->hist);
	if (!used)
		hist_drop_all(set, event);
	for (struct trigger *t = event->triggers, *next; !used && t; t = next) {
		next = t->next;
		if (t->kind == TRIGGER_PAUSE) {
			trigger_unlink(t);
			event_switch(t->target, false, true);
			trigger_free(t);
		}
	}
}

/* --- a new one ---------------------------------------------------------------------- */

static int set_clock(struct trigger_set *set, const struct hist *hist)
{
	if (!hist->has_time || trigger_set_clock(set, hist->text->clock) == 0)
		return 0;
	return trigger_log_token(&set->log, EINVAL, "Couldn't set trace_clock",
				 hist->text->clock);
}

/* pause, cont, clear of one that is there. False: there is none. */
static bool change(const struct trigger *trigger, const struct trigger *named)
{
	const struct hist_text *text = trigger->hist->text;
	struct trigger *found;

	if (!text->pause && !text->cont && !text->clear)
		return false;
	if (text->name && (!named || !hist_is_same(trigger, named, named, true)))
		return false;
	found = find_same(trigger, named);
	if (!found)
		return false;
	if (text->pause)
		found->is_paused = true;
	else if (text->cont)
		found->is_paused = false;
	else
		hist_map_clear(&found->hist->map);
	return true;
}

/* The name: it is whose histogram there is, if there is one. */
static int take_name(struct trigger_set *set, struct trigger *trigger, struct trigger *named)
{
	const char *name = trigger->hist->text->name;

	if (!name)
		return 0;
	if (VEC_DOUBLE(set->named, set->n_named) < 0)
		return -ENOMEM;
	trigger->name = strdup(name);
	if (!trigger->name)
		return -ENOMEM;
	set->named[set->n_named++] = trigger;
	trigger->named = named;
	if (named) {
		struct hist *own = trigger->hist;

		trigger->hist = named->hist;
		trigger->hist->n_users++;
		end_hist(own);
	}
	return 0;
}

static int start(struct trigger_set *set, struct trigger *trigger)
{
	struct hist *hist = trigger->hist;
	int rc = hist_make_doers(hist);

	if (rc < 0)
		return rc;
	hist->map.n_vars = hist->n_vars;
	if (!hist->n_vars && !hist->n_refs)
		return 0;
	if (VEC_DOUBLE(set->var_hists, set->n_var_hists) < 0)
		return -ENOMEM;
	set->var_hists[set->n_var_hists++] = hist;
	return 0;
}

/* May it be, beside those that there are? */
static int check_new(struct trigger_set *set, const struct trigger *trigger,
		     const struct trigger *named)
{
	const struct hist_text *text = trigger->hist->text;

	if (named && !hist_is_same(trigger, named, named, true))
		return trigger_log_token(
			&set->log, EINVAL,
			"Named hist trigger doesn't match existing named trigger "
			"(includes variables)",
			"name=");
	if ((named || !text->name) && find_same(trigger, named))
		return trigger_log_at(&set->log, EEXIST, "Hist trigger already exists", 0);
	if (text->cont || text->clear)
		return trigger_log_at(&set->log, ENOENT,
				      "Can't clear or continue a nonexistent hist trigger", 0);
	return set_clock(set, trigger->hist);
}

/*
 * *ret_kept: the trigger is in the list now. What is wrong with its actions is told before what is wrong with it beside
 * the others.
 */
static int add(struct trigger_set *set, struct trigger *trigger, bool *ret_kept)
{
	struct trigger *named = find_named(set, trigger->hist->text->name);
	int rc;

	if (change(trigger, named))
		return 0;
	rc = start(set, trigger);
	if (rc == 0)
		rc = check_new(set, trigger, named);
	if (rc < 0)
		return rc;
	trigger->is_paused = trigger->hist->text->pause;
	rc = take_name(set, trigger, named);
	if (rc < 0)
		return rc;
	trigger_link(trigger, true);
	if (trigger->event->synth)
		trigger->event->synth->n_users++;
	*ret_kept = true;
	return 0;
}

static int remove_same(struct trigger_set *set, const struct trigger *trigger)
{
	struct trigger *found = find_same(trigger, find_named(set, trigger->hist->text->name));

	if (!found)
		return 0;
	if (hist_is_used(found->hist))
		return -EBUSY;
	drop(set, found);
	return 0;
}

static int run(struct trigger_command *command, struct trigger *trigger, char *filter)
{
	bool kept = false;
	int rc;

	trigger->hist =
		hist_make(command->set, command->event, command->param, command->removes, &rc);
	if (!trigger->hist)
		return rc;
	trigger->hist->n_users = 1;
	rc = trigger_take_filter(command->set, trigger, filter);
	if (rc == 0)
		rc = command->removes ? remove_same(command->set, trigger)
				      : add(command->set, trigger, &kept);
	if (kept)
		return 1;
	if (trigger->name)
		forget_name(command->set, trigger);
	end_hist(trigger->hist);
	return rc;
}

static void begin_log(const struct trigger_command *command)
{
	struct sink_buf where = { 0 }, what = { 0 };

	sink_buf_printf(&where, "hist:%s:%s", command->event->group, command->event->name);
	sink_buf_printf(&what, "hist:%s", command->param ? command->param : "");
	trigger_log_about(&command->set->log, where.data, what.data);
	sink_buf_free(&where);
	sink_buf_free(&what);
}

int hist_command(struct trigger_command *command)
{
	struct trigger *trigger;
	char *filter, *at;
	int rc;

	if (!command->is_inner)
		begin_log(command);
	if (!command->param)
		return -EINVAL;
	rc = cut_filter(command->param, &filter);
	if (rc < 0)
		return rc;
	/* Its minus is none of an expression. */
	while ((at = strstr(command->param, ".sym-offset")))
		at[4] = 'X';
	trigger = trigger_new(command->event, "hist", TRIGGER_HIST);
	if (!trigger)
		return -ENOMEM;
	rc = run(command, trigger, filter);
	if (rc > 0)
		return 0;
	trigger_free(trigger);
	return rc;
}

int hist_command_inner(struct trigger_set *set, struct trigger_event *event, const char *text,
		       bool removes)
{
	struct trigger_command command = { .set = set, .event = event, .word = "hist" };
	int rc;

	command.removes = removes;
	command.is_inner = true;
	command.param = strdup(text);
	if (!command.param)
		return -ENOMEM;
	rc = hist_command(&command);
	free(command.param);
	return rc;
}
