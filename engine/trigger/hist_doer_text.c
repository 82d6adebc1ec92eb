/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The texts of handlers and actions. */

#include <errno.h>
#include <string.h>

#include "engine/trigger/hist_make.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/set.h"
#include "engine/trigger/text.h"

static int fail(struct hist *hist, const char *text, const char *token)
{
	return trigger_log_token(&hist->set->log, EINVAL, text, token);
}

static int parse_params(struct hist *hist, struct hist_doer *doer, char *params)
{
	bool wants_name = text_begins(doer->word, "trace", NULL) && doer->action == HIST_TRACE;

	while (params) {
		char *param;

		if (doer->n_params >= SYNTH_FIELDS_MAX)
			return trigger_log_at(&hist->set->log, EINVAL, "Too many action params",
					      0);
		param = text_strip(strsep(&params, ","));
		if (strlen(param) < 2)
			return fail(hist, "Invalid action param", param);
		if (wants_name)
			doer->synth = param;
		else
			doer->params[doer->n_params++] = param;
		wants_name = false;
	}
	return 0;
}

/* .ACTION(...) behind the handler's parenthesis */
static int parse_action(struct hist *hist, struct hist_doer *doer, char *text)
{
	char *word, *params;
	int rc = 0;

	strsep(&text, ".");
	word = strsep(&text, "(");
	if (!word || !text)
		return trigger_log_at(&hist->set->log, EINVAL, "No action found", 0);
	doer->word = word;
	doer->action = text_begins(word, "save", NULL)       ? HIST_SAVE
		       : text_begins(word, "snapshot", NULL) ? HIST_SNAPSHOT
							     : HIST_TRACE;
	params = strsep(&text, ")");
	if (doer->action != HIST_SNAPSHOT)
		rc = parse_params(hist, doer, params);
	else if (!text)
		rc = fail(hist, "No closing paren found", params);
	if (rc < 0)
		return rc;
	if (doer->handler == HIST_ONMATCH && doer->action != HIST_TRACE)
		return fail(hist, "Handler doesn't support action", word);
	return 0;
}

static int parse_match(struct hist *hist, struct hist_doer *doer, char *text)
{
	char *event = strsep(&text, ")"), *system;

	if (!text)
		return fail(hist, "No closing paren found", event);
	system = strsep(&event, ".");
	if (!event)
		return fail(hist, "Missing subsystem", system);
	if (!trigger_set_find(hist->set, system, event))
		return fail(hist, "Invalid subsystem or event name", event);
	doer->system = system;
	doer->event_name = event;
	return parse_action(hist, doer, text);
}

static int parse_doer(struct hist *hist, struct hist_doer *doer, char *text)
{
	const char *handler = strsep(&text, "(");

	if (strcmp(handler, "onmatch") == 0)
		return parse_match(hist, doer, text);
	doer->handler = strcmp(handler, "onmax") == 0 ? HIST_ONMAX : HIST_ONCHANGE;
	doer->watched = strsep(&text, ")");
	return text ? parse_action(hist, doer, text) : -EINVAL;
}

int hist_parse_doers(struct hist *hist)
{
	for (size_t i = 0; i < hist->text->n_doers; i++) {
		struct hist_doer *doer = pool_get(&hist->pool, sizeof(*doer));
		int rc;

		if (!doer)
			return -ENOMEM;
		rc = parse_doer(hist, doer, hist->text->doers[i]);
		if (rc < 0)
			return rc;
		hist->doers[hist->n_doers++] = doer;
	}
	return 0;
}
