/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/banner.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/trace_options.h"
#include "engine/ubp.h"

/*
 * "p:NAME /path:0xOFF ARGS", what perf-tools says it traces, from the line that
 * uprobe_events would list. Allocated; NULL: out of memory.
 */
static char *banner_probe(const char *listing)
{
	const char *name = listing + 2, *space = strchr(listing, ' ');
	const char *offset = space, *digits;
	char *text;

	/* "uprobes" is the group of whoever named none. */
	if (strncmp(name, "uprobes/", 8) == 0)
		name += 8;
	/* PATH:0x and 16 digits; a path may hold most of that, but not all. */
	for (;;) {
		offset = offset ? strstr(offset, ":0x") : NULL;
		if (!offset)
			return strdup(listing);
		offset += 3;
		if (strspn(offset, "0123456789abcdef") == 16)
			break;
	}
	digits = offset + strspn(offset, "0");
	if (digits > offset + 15)
		digits = offset + 15;
	if (asprintf(&text, "%.2s%.*s%s", listing, (int)(offset - name), name, digits) < 0)
		return NULL;
	return text;
}

/* One alone, though it may have several places? */
static bool is_one_event(struct ubp_session *session, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(ubp_probe_event(session, i), ubp_probe_event(session, 0)) != 0 ||
		    strcmp(ubp_probe_group(session, i), ubp_probe_group(session, 0)) != 0)
			return false;
	return n != 0;
}

static int print_one(char **ret_text, struct ubp_session *session, const char *what, size_t n)
{
	const char *event = ubp_probe_event(session, 0);
	char *probe = banner_probe(ubp_probe_listing(session, 0)), more[48] = "";
	int len;

	if (n > 1)
		(void)snprintf(more, sizeof(more), " and at %zu more", n - 1);
	len = asprintf(ret_text, "Tracing %s %s (%s%s). Ctrl-C to end.", what, event,
		       probe ? probe : event, more);
	free(probe);
	return len;
}

/* "Tracing ...": what is traced by @session; @what: what a probe is called. @duration: in seconds, as it was given; NULL: until Ctrl-C.
 * Allocated; NULL: out of memory. */
static char *banner_text(struct ubp_session *session, const char *what, const char *duration)
{
	size_t n = ubp_n_probes(session);
	bool is_one = is_one_event(session, n);
	char *text;
	int len;

	if (n == 0)
		len = asprintf(&text, "Tracing nothing yet. Ctrl-C to end.");
	else if (duration && is_one)
		len = asprintf(&text, "Tracing %s %s for %s seconds (buffered)...", what,
			       ubp_probe_event(session, 0), duration);
	else if (duration)
		len = asprintf(&text, "Tracing %zu %ss for %s seconds (buffered)...", n, what,
			       duration);
	else if (is_one)
		len = print_one(&text, session, what, n);
	else
		len = asprintf(&text, "Tracing %zu %ss. Ctrl-C to end.", n, what);
	return len < 0 ? NULL : text;
}

/* With a command there is none: what it prints must stay what it is. */
static void say(struct output *out, const struct trace_options *o, const char *text)
{
	if (!o->form.is_data && !o->to.output && !o->command)
		output_line(out, "%s", text);
	else
		cli_line(text);
}

void banner_begin(struct output *out, const struct trace_options *o,
		  struct ubp_session *session)
{
	char *text = banner_text(session, o->what, o->ends.duration);

	if (text)
		say(out, o, text);
	free(text);
}

void banner_end(struct output *out, const struct trace_options *o)
{
	say(out, o, "");
	say(out, o, "Ending tracing...");
}
