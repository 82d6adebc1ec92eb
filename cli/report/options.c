/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/report/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/form.h"
#include "cli/common/form_options.h"
#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/complete/complete.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"

static int set_form(void *into, const char *name)
{
	struct report_options *o = into;

	if (strcmp(o->form.name, "text") != 0 && strcmp(o->form.name, name) != 0)
		return cli_usage_error("--%s has a form of its own: it excludes --%s", name,
				       o->form.name);
	(void)ubp_sink_form(name, &o->form);
	return CLI_OK;
}

static int set_otlp(void *into, const char *arg)
{
	((struct report_options *)into)->otlp = arg;
	return set_form(into, "otlp");
}

static int set_time(void *into, const char *arg)
{
	return text_take_time(&((struct report_options *)into)->text, arg);
}

static int set_colour(void *into, const char *arg)
{
	return text_take_colour(&((struct report_options *)into)->text, arg);
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

static int add_rule(struct report_options *o, const char *event, const char *filter)
{
	if (VEC_FIT(o->rules, o->n_rules + 1) < 0)
		return cli_error("out of memory");
	o->rules[o->n_rules++] = (struct report_rule){ event, filter };
	return CLI_OK;
}

static int add_event(void *into, const char *arg)
{
	return add_rule(into, arg, NULL);
}

/* For the event before it; for all, where there is none. */
static int add_filter(void *into, const char *arg)
{
	struct report_options *o = into;
	struct report_rule *last = o->n_rules ? &o->rules[o->n_rules - 1] : NULL;

	if (!last)
		return add_rule(o, NULL, arg);
	if (last->filter)
		return cli_usage_error("more than one filter for %s",
				       last->event ? last->event : "all events");
	last->filter = arg;
	return CLI_OK;
}

static int add_pids(void *into, const char *arg)
{
	struct report_options *o = into;

	for (const char *p = arg; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		char digits[16];
		uint64_t pid;

		(void)snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(p, ","), p);
		if (!cli_number(digits, 1, INT_MAX, &pid))
			return cli_usage_error("--pid takes process ids, not '%s'", arg);
		if (VEC_FIT(o->pids, o->n_pids + 1) < 0)
			return cli_error("out of memory");
		o->pids[o->n_pids++] = (pid_t)pid;
	}
	return CLI_OK;
}

/* "1374.209273604", as it is printed, exactly; "+0.5": behind the first event. */
static int take_time(const char *option, const char *arg, struct ubp_recording_time *time)
{
	const char *p = arg + (*arg == '+'), *fraction;
	size_t n = strspn(p, "0123456789"), n_fraction;
	uint64_t ns = 0;

	fraction = p[n] == '.' ? p + n + 1 : "";
	n_fraction = strspn(fraction, "0123456789");
	if (!n || n > 10 || n_fraction > 9 || (p[n] && p[n] != '.') || fraction[n_fraction])
		return cli_usage_error("%s takes seconds, as events have them, or +SECS behind "
				       "the first event, not '%s'",
				       option, arg);
	for (size_t i = 0; i < n; i++)
		ns = 10 * ns + (uint64_t)(p[i] - '0');
	for (size_t i = 0; i < 9; i++)
		ns = 10 * ns + (i < n_fraction ? (uint64_t)(fraction[i] - '0') : 0);
	*time = (struct ubp_recording_time){ .is_set = true,
					     .is_relative = *arg == '+',
					     .ns = ns };
	return CLI_OK;
}

static int set_from(void *into, const char *arg)
{
	return take_time("--from", arg, &((struct report_options *)into)->from);
}

static int set_to(void *into, const char *arg)
{
	return take_time("--to", arg, &((struct report_options *)into)->to);
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct report_options, member)

static const struct cli_option table[] = {
	{ 0, "text", .choose = set_form,
	  .help = "a line for each event, as the kernel's tracer prints it (default)" },
	{ 0, "json", .choose = set_form, .help = "a JSON object for each event, a line each" },
	TREE_OPTION(set_form),
	FORM_OPTIONS(set_form),
	{ 0, "stats", FLAG(stats),
	  .help = "how often and how long functions were called, and by whom; also --json" },
	{ 0, "diff", FLAG(diff),
	  .help = "with --stats: what differs between the first FILE and the second" },
	{ 0, "folded", .choose = set_form,
	  .help = "count equal stacks, a line each, for flame graphs" },
	{ 0, "html", .choose = set_form,
	  .help = "a page to look at in a browser: flame graph, heat map, timeline, events" },
	{ 0, "flame", .choose = set_form,
	  .help = "a flame graph of calls, or of stacks, as SVG" },
	{ 0, "heat", .choose = set_form, .help = "latencies over time as a heat map, as SVG" },
	{ 'e', "event", "GLOB", .set = add_event,
	  .help = "only events of such a name, or GROUP:NAME; repeatable" },
	{ 0, "filter", "EXPR", .set = add_filter,
	  .help = "only those for which EXPR is true, of the --event before it, or of all" },
	{ 'p', "pid", "PID[,PID]", .set = add_pids, .help = "only of these processes" },
	{ 0, "from", "SECS", .set = set_from,
	  .help = "only from this time on, as events have it; +SECS: after the first event" },
	{ 0, "to", "SECS", .set = set_to, .help = "only up to this time; +SECS as above" },
	{ 0, "info", FLAG(info), .help = "only tell where and when each FILE was recorded" },
	{ 0, "align", "SECS[,SECS]", .is_attached = true, .set = set_align,
	  .help = "put FILEs of different hosts and boots together by what time of day it\n"
		  "was; or add so many seconds to the times of each FILE but the first" },
	{ 0, "otlp", "FILE|URL", .set = set_otlp,
	  .help = "spans of calls and log records as OTLP/JSON, to FILE or to the\n"
		  "OpenTelemetry collector at URL" },
	TEXT_OPTIONS(set_time, set_colour),
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
	.word = "FILE",
};

/* It would be emptied before it is read. */
static int check_output(const struct report_options *o)
{
	const char *to = o->otlp ? o->otlp : o->output;
	struct stat out, in;

	if (!to || stat(to, &out) < 0 || !S_ISREG(out.st_mode))
		return CLI_OK;
	for (size_t i = 0; i < o->n_files; i++)
		if (stat(o->files[i], &in) == 0 && in.st_dev == out.st_dev &&
		    in.st_ino == out.st_ino)
			return cli_usage_error("%s is to be read: it is not written to", to);
	return CLI_OK;
}

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
	if (o->diff && !o->stats)
		return cli_usage_error("--diff is for --stats");
	if (o->diff && o->n_files != 2)
		return cli_usage_error("--diff takes two FILEs: the old one and the new one");
	if (o->diff && o->is_aligned)
		return cli_usage_error("--diff compares FILEs: it excludes --align");
	if (o->header && !o->form.has_header)
		return cli_usage_error("-H is for text: it excludes --%s", o->form.name);
	if (text_check(&o->text, &o->form) != CLI_OK || check_output(o) != CLI_OK)
		return CLI_USAGE;
	return o->info ? CLI_OK : form_check(&o->form, o->output, false, false);
}

/* --stats has two forms. Returns CLI_OK or CLI_USAGE. */
static int choose_stats(struct report_options *o)
{
	if (!o->stats)
		return CLI_OK;
	if (o->form.is_data && strcmp(o->form.name, "json") != 0)
		return cli_usage_error("--stats has a form of its own: it excludes --%s",
				       o->form.name);
	(void)ubp_sink_form(o->form.is_data ? "stats-json" : "stats", &o->form);
	return CLI_OK;
}

int report_options_parse(int argc, char **argv, struct report_options *o, bool *ret_done)
{
	char **rest;
	int status;

	memset(o, 0, sizeof(*o));
	(void)ubp_sink_form("text", &o->form);
	*ret_done = true;
	if (complete(&syntax, argc, argv))
		return CLI_OK;
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
		status = choose_stats(o);
		if (status == CLI_OK)
			status = check(o);
		*ret_done = status != CLI_OK;
	}
	return status;
}

void report_options_free(struct report_options *o)
{
	free(o->files);
	free(o->shifts);
	free(o->rules);
	free(o->pids);
}
