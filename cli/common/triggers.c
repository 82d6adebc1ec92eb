/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/triggers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/trace_options.h"
#include "engine/base/err.h"
#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/ubp_trigger.h"

void trigger_event_name(struct ubp_session *session, size_t i, char name[TRIGGER_EVENT_ROOM])
{
	(void)snprintf(name, TRIGGER_EVENT_ROOM, "%s:%s", ubp_probe_group(session, i),
		       ubp_probe_event(session, i));
}

bool trigger_event_is_new(struct ubp_session *session, size_t i, struct map *seen)
{
	const char *group = ubp_probe_group(session, i), *event = ubp_probe_event(session, i);
	void **place = map_place(seen, hash_text(hash_text(0, group), event));

	if (!place)
		return true;
	if (!*place) {
		*place = (void *)event;
		return true;
	}
	/* Else it has but the same hash. */
	return strcmp(*place, event) != 0;
}

/* Is this the command of @text? *ret_rest: what follows. */
static bool is_command(const char *text, const char *word, const char **ret_rest)
{
	size_t len = strlen(word);

	text += strspn(text, " \t\n");
	*ret_rest = text + len;
	return strncmp(text, word, len) == 0 && strchr(": \t", text[len]);
}

/* Lines for a histogram are what was not asked for; and what is to be enabled begins disabled. */
static int mute(struct ubp_session *session, const char *event, const char *text,
		struct ubp_err *err)
{
	char name[TRIGGER_EVENT_ROOM];
	const char *rest;
	size_t len;

	if (is_command(text, "hist", &rest))
		return ubp_trigger_record(session, event, false, err);
	if (!is_command(text, "enable_event", &rest))
		return 0;
	rest += strspn(rest, ": \t");
	len = strcspn(rest, ":");
	if (rest[len])
		len += 1 + strcspn(rest + len + 1, ": \t");
	(void)snprintf(name, sizeof(name), "%.*s", (int)len, rest);
	return ubp_trigger_record(session, name, false, err);
}

static int write_one(struct ubp_session *session, const struct trace_options *o, size_t i,
		     const char *text)
{
	char name[TRIGGER_EVENT_ROOM];
	const char *rest;
	struct ubp_err err;

	ubp_err_reset(&err);
	/* Those of --otlp are metrics. */
	if (o->form.is_data && strcmp(o->form.name, "json") != 0 && !o->to.otlp &&
	    is_command(text, "hist", &rest))
		return cli_usage_error(
			"histograms are text or --json: --trigger hist excludes --%s",
			o->form.name);
	trigger_event_name(session, i, name);
	if (ubp_trigger_write(session, name, text, &err) < 0 ||
	    mute(session, name, text, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

static int define_synthetic(struct ubp_session *session, const char *text)
{
	size_t blanks = strspn(text, " \t"), len = strcspn(text + blanks, " \t");
	char name[TRIGGER_EVENT_ROOM];
	struct ubp_err err;

	ubp_err_reset(&err);
	(void)snprintf(name, sizeof(name), "synthetic:%.*s", (int)len, text + blanks);
	if (ubp_synthetic_add(session, text, &err) < 0 ||
	    ubp_trigger_record(session, name, true, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

/* There is no way to write one later. */
static int settle(struct ubp_session *session)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	return ubp_trigger_settle(session, &err) < 0 ? cli_error_record(&err) : CLI_OK;
}

int triggers_write(struct ubp_session *session, const struct trace_options *o)
{
	int status = CLI_OK;

	for (size_t i = 0; i < o->triggers.n_synthetic && status == CLI_OK; i++)
		status = define_synthetic(session, o->triggers.synthetic[i]);
	/* As they stand, for they may name each other; for all events of a definition that has several. */
	for (size_t i = 0; i < o->triggers.n && status == CLI_OK; i++) {
		const struct trigger_option *trigger = &o->triggers.v[i];
		const struct trace_definition *d = &o->definitions[trigger->definition];

		struct map seen = { 0 };

		for (size_t k = d->first; k < d->first + d->n_probes && status == CLI_OK; k++)
			if (trigger_event_is_new(session, k, &seen))
				status = write_one(session, o, k, trigger->text);
		map_free(&seen);
	}
	if (status == CLI_OK && o->triggers.after_ns &&
	    ubp_trigger_snapshot_after(session, o->triggers.after_ns) < 0)
		status = cli_error("out of memory");
	if (status == CLI_OK && o->triggers.n)
		status = settle(session);
	return status;
}

/* Lines may hold what the target chose: they are printed as all lines are. */
static void print_lines(struct output *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		output_line(out, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* What the histograms of probe @i's event show. NULL: it has none, or was asked for before. */
static const char *hists_of(struct ubp_session *session, size_t i, struct map *seen,
			    char name[TRIGGER_EVENT_ROOM])
{
	const char *text;

	if (!trigger_event_is_new(session, i, seen))
		return NULL;
	trigger_event_name(session, i, name);
	text = ubp_trigger_hist(session, name, NULL);
	return text && *text ? text : NULL;
}

/* Each line says whose it is. */
static void print_json(struct ubp_session *session, struct output *out)
{
	struct map seen = { 0 };
	char name[TRIGGER_EVENT_ROOM];
	size_t len = 0;

	for (size_t i = 0; i < ubp_n_probes(session); i++) {
		const char *text;

		if (!trigger_event_is_new(session, i, &seen))
			continue;
		trigger_event_name(session, i, name);
		text = ubp_trigger_hist_json(session, name, &len);
		output_add(out, text ? text : "", text ? len : 0);
	}
	map_free(&seen);
}

/* Of one event alone it need not be told whose they are. */
static bool has_several(struct ubp_session *session)
{
	struct map seen = { 0 };
	char name[TRIGGER_EVENT_ROOM];
	size_t n = 0;

	for (size_t i = 0; i < ubp_n_probes(session) && n < 2; i++)
		n += hists_of(session, i, &seen, name) != NULL;
	map_free(&seen);
	return n > 1;
}

void triggers_print(struct ubp_session *session, const struct trace_options *o,
		    struct output *out)
{
	bool several = o->triggers.n && has_several(session);
	struct map seen = { 0 };
	size_t n_printed = 0;

	if (o->to.otlp)
		return;
	if (o->triggers.n && o->form.is_data) {
		print_json(session, out);
		return;
	}
	for (size_t i = 0; o->triggers.n && i < ubp_n_probes(session); i++) {
		char name[TRIGGER_EVENT_ROOM];
		const char *text = hists_of(session, i, &seen, name);

		if (!text)
			continue;
		/* The kernel's file does not say whose it is. */
		if (n_printed++)
			output_line(out, "%s", "");
		if (several)
			output_line(out, "# %s", name);
		print_lines(out, text);
	}
	map_free(&seen);
}
