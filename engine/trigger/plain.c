/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The commands traceon, traceoff, snapshot, stacktrace, enable_event, disable_event, enable_hist, disable_hist. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/spec/chars.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"
#include "engine/trigger/trigger.h"

static bool has_target(enum trigger_kind kind)
{
	return kind == TRIGGER_EVENT || kind == TRIGGER_PAUSE;
}

/* What excludes @trigger, and what it removes. */
static struct trigger *find_like(const struct trigger *trigger)
{
	for (struct trigger *t = trigger->event->triggers; t; t = t->next)
		if (t->kind == trigger->kind && t->target == trigger->target)
			return t;
	return NULL;
}

/* [N] or SYS:EVENT[:N], and the filter behind it. */
static int cut(struct trigger_command *command, bool target, char **ret_param,
	       char **ret_filter)
{
	char *param = command->param, *filter;

	*ret_param = *ret_filter = NULL;
	if (!param)
		return target ? -EINVAL : 0;
	if (!target && !char_is_digit(param[0])) {
		*ret_filter = param;
		return 0;
	}
	*ret_param = strsep(&param, " \t");
	if (!param)
		return 0;
	filter = text_skip(param);
	*ret_filter = *filter ? filter : NULL;
	return 0;
}

static int find_target(struct trigger_command *command, char **param,
		       struct trigger_event **ret)
{
	char *group = strsep(param, ":"), *name;

	if (!*param)
		return -EINVAL;
	name = strsep(param, ":");
	*ret = trigger_set_find(command->set, group, name);
	return *ret ? 0 : -EINVAL;
}

static int take_count(struct trigger *trigger, char *param)
{
	char *number;

	if (!param)
		return 0;
	number = strsep(&param, ":");
	if (!*number)
		return -EINVAL;
	return text_number(number, &trigger->count);
}

static void remove_like(const struct trigger *trigger)
{
	struct trigger *found = find_like(trigger);

	if (!found)
		return;
	trigger_unlink(found);
	if (found->target)
		event_switch(found->target, false, true);
	trigger_free(found);
}

static int add(struct trigger_set *set, struct trigger *trigger, char *param, char *filter)
{
	int rc = take_count(trigger, param);

	if (rc == 0)
		rc = trigger_take_filter(set, trigger, filter);
	if (rc < 0)
		return rc;
	if (find_like(trigger))
		return -EEXIST;
	if (trigger->kind == TRIGGER_SNAPSHOT)
		set->has_snapshot = true;
	if (trigger->target)
		event_switch(trigger->target, true, true);
	trigger_link(trigger, false);
	return 0;
}

int plain_command(struct trigger_command *command, enum trigger_kind kind, bool switches_on)
{
	struct trigger *trigger = trigger_new(command->event, command->word, kind);
	char *param, *filter;
	int rc;

	if (!trigger)
		return -ENOMEM;
	trigger->switches_on = switches_on;
	rc = cut(command, has_target(kind), &param, &filter);
	if (rc == 0 && has_target(kind))
		rc = find_target(command, &param, &trigger->target);
	if (rc == 0 && command->removes)
		remove_like(trigger);
	else if (rc == 0) {
		rc = add(command->set, trigger, param, filter);
		if (rc == 0)
			return 0;
	}
	trigger_free(trigger);
	return rc;
}

void plain_list(const struct trigger *trigger, struct sink_buf *out)
{
	sink_buf_printf(out, "%s", trigger->word);
	if (trigger->target)
		sink_buf_printf(out, ":%s:%s", trigger->target->group, trigger->target->name);
	if (trigger->count == TRIGGER_UNLIMITED)
		sink_buf_printf(out, ":unlimited");
	else
		sink_buf_printf(out, ":count=%" PRId64, (int64_t)trigger->count);
	if (trigger->filter_text)
		sink_buf_printf(out, " if %s", trigger->filter_text);
	sink_buf_printf(out, "\n");
}
