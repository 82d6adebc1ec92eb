/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/report/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "engine/base/vec.h"

static int set_form(void *into, const char *name)
{
	(void)ubp_sink_form(name, &((struct report_options *)into)->form);
	return CLI_OK;
}

static int set_otlp(void *into, const char *arg)
{
	((struct report_options *)into)->otlp = arg;
	return set_form(into, "otlp");
}

static int set_output(void *into, const char *arg)
{
	((struct report_options *)into)->output = arg;
	return CLI_OK;
}

static int add_file(void *into, const char *word)
{
	struct report_options *o = into;

	if (VEC_FIT(o->files, o->n_files + 1) < 0)
		return cli_error("out of memory");
	o->files[o->n_files++] = word;
	return CLI_OK;
}

/* "-1.5,+0.000001": seconds, for each file but the first. */
static int set_align(void *into, const char *arg)
{
	struct report_options *o = into;

	o->is_aligned = true;
	free(o->shifts);
	o->shifts = NULL;
	o->n_shifts = 0;
	for (const char *p = arg; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		char seconds[32];
		uint64_t ns = 0;
		size_t sign = *p == '-' || *p == '+', len = strcspn(p + sign, ",");

		(void)snprintf(seconds, sizeof(seconds), "%.*s", (int)(len < 31 ? len : 31),
			       p + sign);
		if (strspn(seconds, "0.") != strlen(seconds) || !len)
			if (!cli_seconds(seconds, &ns) || ns > INT64_MAX || len > 30)
				return cli_usage_error("--align takes seconds, one for each "
						       "FILE but the first, not '%s'",
						       arg);
		if (VEC_FIT(o->shifts, o->n_shifts + 1) < 0)
			return cli_error("out of memory");
		o->shifts[o->n_shifts++] = *p == '-' ? -(int64_t)ns : (int64_t)ns;
	}
	return CLI_OK;
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct report_options, member)

static const struct cli_option table[] = {
	{ 0, "text", .choose = set_form,
	  .help = "a line for each event, as the kernel's tracer prints it (default)" },
	{ 0, "json", .choose = set_form, .help = "a JSON object for each event, a line each" },
	{ 0, "folded", .choose = set_form,
	  .help = "count equal stacks, a line each, for flame graphs" },
	{ 0, "html", .choose = set_form,
	  .help = "a page to look at in a browser: flame graph, heat map, timeline, events" },
	{ 0, "flame", .choose = set_form, .help = "a flame graph of calls, or of stacks, as SVG" },
	{ 0, "heat", .choose = set_form, .help = "latencies over time as a heat map, as SVG" },
	{ 0, "info", FLAG(info), .help = "only tell where and when each FILE was recorded" },
	{ 0, "align", "SECS[,SECS]", .is_attached = true, .set = set_align,
	  .help = "put FILEs of different hosts and boots together by what time of day it\n"
		  "was; or add so many seconds to the times of each FILE but the first" },
	{ 0, "otlp", "FILE|URL", .set = set_otlp,
	  .help = "spans of calls and log records as OTLP/JSON, to FILE or to the\n"
		  "OpenTelemetry collector at URL" },
	{ 'H', "header", FLAG(header), .help = "print the column header first" },
	{ 'o', "output", "FILE", .set = set_output, .help = "write to FILE" },
	{ 'h', "help", FLAG(help), .help = "print this" },
	{ 0, "version", FLAG(version), .help = "print the version" },
};

static const struct cli_syntax syntax = {
	.usage =
		"[OPTION]... FILE...\n"
		"\n"
		"Print what uprobe --record or usdt --record has written to FILEs, in order of "
		"time.\n",
	.about = "  uprobe --record trace.ubp 'p:libc:malloc size=%di' -- ls\n"
		 "  ubp-report trace.ubp\n"
		 "  ubp-report --json trace.ubp | jq .args.size\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = add_file,
};

static int check(const struct report_options *o)
{
	if (!o->n_files)
		return cli_usage_error("no file is given");
	if (o->n_shifts && o->n_shifts != o->n_files - 1)
		return cli_usage_error(
			"--align has seconds for each FILE but the first: %zu of "
			"them, not %zu",
			o->n_files - 1, o->n_shifts);
	if (o->otlp && o->output)
		return cli_usage_error("--otlp says where events go: it excludes -o");
	if (o->header && !o->form.has_header)
		return cli_usage_error("-H is for text: it excludes --%s", o->form.name);
	return CLI_OK;
}

int report_options_parse(int argc, char **argv, struct report_options *o, bool *ret_done)
{
	char **rest;
	int status;

	memset(o, 0, sizeof(*o));
	(void)ubp_sink_form("text", &o->form);
	*ret_done = true;
	status = cli_parse(&syntax, argc, argv, o, &rest);
	if (status != CLI_OK)
		return status;
	for (; rest && *rest; rest++)
		if (add_file(o, *rest) != CLI_OK)
			return CLI_FAILED;
	if (o->help) {
		cli_print_help(&syntax);
	} else if (o->version) {
		printf("%s " UBP_VERSION "\n", cli_program);
	} else {
		status = check(o);
		*ret_done = status != CLI_OK;
	}
	return status;
}

void report_options_free(struct report_options *o)
{
	free(o->files);
	free(o->shifts);
}
