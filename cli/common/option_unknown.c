/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* An option that a command does not have: which one was meant? */

#include <stdio.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "engine/base/nearest.h"

#define EDITS    2
#define DASH_MIN 3 /* letters of a long option behind a single dash */

/* What other tools call it. A letter's name is that letter. */
static const struct {
	const char *written, *needs, *meant;
} elsewhere[] = {
	{ "interval", "every", "--every=SECS prints what is counted each SECS seconds" },
	{ "profile", "count", "--count=ustack counts hits by stack, --flame=FILE draws them" },
	{ "summary", "count", "--count counts hits" },
	{ "c", "count", "--count counts hits, and a command stands behind --" },
	{ "command", "count", "a command stands behind --" },
	{ "comm", "filter", "the filter 'comm == \"NAME\"' lets only hits of NAME through" },
	{ "ustack", "stack", "-s prints the user stack of each event" },
	{ "user-stack", "stack", "-s prints the user stack of each event" },
	{ "backtrace", "stack", "-s prints the user stack of each event" },
	{ "call-graph", "stack", "-s prints the user stack of each event" },
	{ "g", "stack", "-s prints the user stack of each event" },
	{ "k", "stack", "-s prints the user stack of each event" },
	{ "attach", "pid", "-p PID traces a process that runs" },
	{ "children", "follow", "--follow traces children, too" },
	{ "follow-forks", "follow", "--follow traces children, too" },
	{ "timeout", "duration", "-d SECS ends after so long" },
	{ "limit", "duration", "-n COUNT ends after so many events" },
	{ "max-events", "duration", "-n COUNT ends after so many events" },
	{ "histogram", "hist", "--hist=ARG counts hits by powers of two of ARG" },
	{ "latency", "hist", "--hist='$duration' of r:TARGET:SYMBOL $duration is that" },
	{ "flamegraph", "flame", "--flame=FILE draws one" },
	{ "format", "json", "--json and --csv are other forms than text" },
};

#define N_ELSEWHERE (sizeof(elsewhere) / sizeof(elsewhere[0]))

static const char *meant_elsewhere(const struct cli_syntax *syntax, const char *name,
				   size_t len)
{
	for (size_t i = 0; i < N_ELSEWHERE; i++)
		if (strlen(elsewhere[i].written) == len &&
		    memcmp(elsewhere[i].written, name, len) == 0 &&
		    cli_option_called(syntax, elsewhere[i].needs, strlen(elsewhere[i].needs)))
			return elsewhere[i].meant;
	return NULL;
}

static void find_near(const struct cli_syntax *syntax, const char *name, size_t len,
		      struct nearest *near)
{
	const struct cli_option *o;

	nearest_init(near, name, len, EDITS);
	for (size_t i = 0; (o = cli_option_at(syntax, i)); i++)
		if (o->name)
			nearest_offer(near, o->name);
}

/* "; did you mean '--json'?", of those that are nearest alike. */
static void near_text(struct nearest *near, char *text, size_t size)
{
	while (near->n && near->best[near->n - 1].score != near->best[0].score)
		near->n--;
	nearest_text_of(near, "--", text, size);
}

int cli_option_refuse(const struct cli_syntax *syntax, const char *word, int letter)
{
	const char *name = word + (word[1] == '-' ? 2 : 1), *meant;
	size_t len = strcspn(name, "=");
	bool is_long = !letter || len >= DASH_MIN;
	char text[NEAREST_TEXT_MAX] = "", one[2] = { (char)letter, '\0' };
	struct nearest near;

	meant = is_long ? meant_elsewhere(syntax, name, len) : NULL;
	find_near(syntax, name, is_long ? len : 0, &near);
	near_text(&near, text, sizeof(text));
	if (meant)
		return cli_usage_error("unknown option '%s'; %s", word, meant);
	if (!letter || text[0])
		return cli_usage_error("unknown option '%s'%s", word, text);
	meant = meant_elsewhere(syntax, one, 1);
	return cli_usage_error("unknown option '-%c'%s%s", letter, meant ? "; " : "",
			       meant ? meant : "");
}

void cli_option_hint_dash(const struct cli_syntax *syntax, const char *word)
{
	size_t len = strcspn(word, "=");
	char text[80];

	if (word[0] != '-' || word[1] == '-' || len <= DASH_MIN ||
	    !cli_option_called(syntax, word + 1, len - 1))
		return;
	(void)snprintf(text, sizeof(text), "hint: did you mean '-%.*s'?", (int)len, word);
	cli_tell(NULL, text);
}
