/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* usdt: trace static probes of running programs. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/trace_session.h"
#include "cli/live/ask.h"
#include "cli/usdt/options.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/ubp_files.h"

const char cli_program[] = "usdt";

static int add(struct ubp_session *session, const struct trace_definition *d,
	       struct ubp_err *err)
{
	return ubp_add_usdt(session, d->text, d->filter, err);
}

/* --- lists --------------------------------------------------------------------------- */

/* An empty list may be a surprise: the probes of a program may be in its libraries. */
static void tell_none(const struct ubp_target *target)
{
	char text[1024];

	if (target->pattern)
		(void)snprintf(text, sizeof(text), "no static probe '%s' in %s",
			       target->pattern,
			       target->name ? target->name : "what the process maps");
	else if (target->exclude)
		(void)snprintf(text, sizeof(text), "no static probes, or all are left out");
	else if (target->name)
		(void)snprintf(text, sizeof(text),
			       "no static probes in %s (those of its libraries are listed by "
			       "-l -p PID)",
			       target->name);
	else
		(void)snprintf(text, sizeof(text), "no static probes in what the process maps");
	cli_tell(NULL, text);
}

/* --- -l -------------------------------------------------------------------------------- */

struct names {
	char **v;
	size_t n;
};

static int take_name(void *ctx, const struct ubp_usdt *usdt)
{
	struct names *names = ctx;

	if (VEC_FIT(names->v, names->n + 1) < 0)
		return -ENOMEM;
	if (asprintf(&names->v[names->n], "%s:%s%s%s", usdt->provider, usdt->name,
		     usdt->explain ? "  " : "", usdt->explain ? usdt->explain : "") < 0)
		return -ENOMEM;
	names->n++;
	return 0;
}

static int compare_names(const void *pa, const void *pb)
{
	return strcmp(*(char *const *)pa, *(char *const *)pb);
}

static int list_names(struct output *out, const struct ubp_target *target, const void *what,
		      struct ubp_err *err)
{
	struct names names = { 0 };
	int rc = ubp_list_usdt(target, take_name, &names, err);

	(void)what;
	if (rc == -ENOMEM)
		(void)ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0 && !names.n)
		tell_none(target);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), compare_names);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		if (i == 0 || strcmp(names.v[i - 1], names.v[i]) != 0)
			output_line(out, "%s", names.v[i]);
	while (names.n)
		free(names.v[--names.n]);
	free(names.v);
	return rc;
}

/* --- -L -------------------------------------------------------------------------------- */

struct details {
	struct output *out;
	size_t n;
};

static int print_details(void *ctx, const struct ubp_usdt *usdt)
{
	struct details *details = ctx;
	struct output *out = details->out;
	char text[512];

	details->n++;
	output_line(out, "%s:%s %s", usdt->provider, usdt->name, usdt->path);
	output_line(out,
		    "    location 0x%016" PRIx64 ", base 0x%016" PRIx64
		    ", semaphore 0x%016" PRIx64,
		    usdt->location, usdt->base, usdt->semaphore);
	if (usdt->args[0])
		output_line(out, "    arguments %s", usdt->args);
	for (size_t i = 0; i < usdt->n_args; i++) {
		bool can = ubp_usdt_arg(usdt, i, text, sizeof(text));

		output_line(out, "    arg%zu %s%s", i + 1, can ? "" : "cannot be read: ", text);
	}
	if (usdt->explain)
		output_line(out, "    %s", usdt->explain);
	return 0;
}

static int list_details(struct output *out, const struct ubp_target *target, const void *what,
			struct ubp_err *err)
{
	struct details details = { out, 0 };
	int rc = ubp_list_usdt(target, print_details, &details, err);

	(void)what;
	if (rc == 0 && !details.n)
		tell_none(target);
	return rc;
}

/* --------------------------------------------------------------------------------------- */

static int run(const struct usdt_options *o)
{
	const struct trace_definition *words = o->trace.definitions;
	struct ubp_target target;

	if (o->trace.live.ask)
		return live_ask(&o->trace, "usdt");
	if (!o->list && !o->details)
		return trace_session(&o->trace, add);
	target = trace_session_target(&o->trace, words ? words->text : NULL);
	if (words)
		target.pattern = words->filter;
	/* PROVIDER:NAME is no file: of all that the process maps. */
	if (target.pid && target.name && !target.pattern && strchr(target.name, ':') &&
	    !strchr(target.name, '/')) {
		target.pattern = target.name;
		target.name = NULL;
	}
	return trace_session_list(&o->trace, o->details ? list_details : list_names, &target,
				  NULL);
}

int main(int argc, char **argv)
{
	struct usdt_options options;
	bool done;
	int status;

	trace_session_hold_descriptors();
	status = usdt_options_parse(argc, argv, &options, &done);
	if (!done)
		status = run(&options);
	usdt_options_free(&options);
	return trace_session_end(status);
}
