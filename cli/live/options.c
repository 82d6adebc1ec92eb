/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/options.h"

#include <stddef.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/common/trace_options.h"
#include "cli/live/keep.h"
#include "cli/live/place.h"

static struct live_options *of(void *into)
{
	return &((struct trace_options *)into)->live;
}

int live_set_session(void *into, const char *arg)
{
	of(into)->session = arg;
	if (place_is_name(arg))
		return CLI_OK;
	return cli_usage_error(
		"--session takes a name of letters, digits, '.', '_' and '-', 64 at "
		"most, that begins with none of the last three, not '%s'",
		arg);
}

void live_see(void *into, const struct cli_option *option)
{
	static const char *const asks[] = { "session", "list-sessions", "add",   "remove",
					    "enable",  "disable",       "dump",  "end",
					    "filter",  "list",          "stats", "help",
					    "version" };

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (option->name && strcmp(option->name, asks[i]) == 0)
			return;
	if (!of(into)->other)
		of(into)->other = option;
}

static int ask(void *into, enum live_ask what, const char *event)
{
	struct live_options *live = of(into);

	if (live->ask && !(live->ask == LIVE_ADD && what == LIVE_ADD))
		return cli_usage_error("one thing at a time is asked of a session");
	live->ask = what;
	live->event = event;
	return CLI_OK;
}

int live_set_add(void *into, const char *arg)
{
	int status = ask(into, LIVE_ADD, NULL);

	return status == CLI_OK ? trace_options_add_definition(into, DEFINITION_WORD, arg)
				: status;
}

int live_set_remove(void *into, const char *arg)
{
	return ask(into, LIVE_REMOVE, arg);
}

int live_set_enable(void *into, const char *arg)
{
	return ask(into, LIVE_ENABLE, arg);
}

int live_set_disable(void *into, const char *arg)
{
	return ask(into, LIVE_DISABLE, arg);
}

int live_set_dump(void *into, const char *arg)
{
	return ask(into, LIVE_DUMP, arg);
}

int live_set_end(void *into, const char *name)
{
	(void)name;
	return ask(into, LIVE_END, NULL);
}

/* -l, --stats and --filter mean something else where a trace begins. */
static enum live_ask asked_by_others(const struct trace_options *o)
{
	const struct live_options *live = &o->live;

	if (!live->session || live->detach || o->command)
		return LIVE_NONE;
	if (live->filter)
		return LIVE_FILTER;
	if (o->n_definitions)
		return LIVE_NONE;
	if (o->lists.is_list && !o->lists.list && !o->lists.pattern)
		return LIVE_LIST;
	return o->stats ? LIVE_STATS : LIVE_NONE;
}

/* Else what comes is kept: nobody sees the standard output of one that is detached. */
static bool has_output(const struct trace_options *o)
{
	return o->to.output || o->to.record.path || o->to.otlp || o->to.prometheus;
}

static int check_begin(struct trace_options *o)
{
	if (o->live.filter)
		return cli_usage_error("a filter comes after the definition it is for");
	if (o->live.detach && !o->live.session)
		return cli_usage_error("--detach takes --session: by its name it is ended");
	if (o->live.detach && (o->command || o->to.tui))
		return cli_usage_error("--detach has no terminal: it excludes %s",
				       o->command ? "a command" : "--tui");
	if (o->live.keep || (o->live.detach && !has_output(o)))
		return keep_prepare(o);
	return CLI_OK;
}

static int refuse_other(const struct cli_option *o)
{
	const char letter[] = { (char)o->letter, '\0' };

	return cli_usage_error("%s%s is for a trace that begins, and nothing is asked of one "
			       "that runs by it",
			       o->name ? "--" : "-", o->name ? o->name : letter);
}

int live_check(struct trace_options *o)
{
	struct live_options *live = &o->live;
	bool takes_words;

	if (live->lists)
		live->ask = live->ask ? live->ask : LIVE_SESSIONS;
	else if (!live->ask)
		live->ask = asked_by_others(o);
	if (!live->ask && live->session && o->lists.is_list)
		return cli_usage_error(
			"-l lists the probes of --session, and takes nothing then");
	if (!live->ask)
		return check_begin(o);
	if (live->filter && live->ask != LIVE_FILTER)
		return cli_usage_error("a filter comes after the definition it is for");
	takes_words = live->ask == LIVE_ADD || live->ask == LIVE_FILTER;
	if (!live->session != (live->ask == LIVE_SESSIONS))
		return cli_usage_error(
			live->session ? "--list-sessions lists all of them"
				      : "--session says of which session that is asked");
	if (live->other)
		return refuse_other(live->other);
	if (o->command)
		return cli_usage_error("a command is for a trace that begins, and not for one "
				       "that runs");
	if (!takes_words && o->n_definitions)
		return cli_usage_error("'%s' is one word too many", o->definitions[0].text);
	if (live->ask == LIVE_FILTER && o->n_definitions > 1)
		return cli_usage_error("--filter takes one event");
	if (live->ask == LIVE_FILTER)
		live->event = o->n_definitions ? o->definitions[0].text : NULL;
	if (live->ask == LIVE_FILTER && !live->event)
		return cli_usage_error("--filter takes the event that it is for");
	return CLI_OK;
}
