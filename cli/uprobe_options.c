/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/uprobe_options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/option.h"

static int add_definition(struct uprobe_options *o, enum definition_kind kind, const char *text)
{
	struct uprobe_definition *d;

	d = reallocarray(o->definitions, o->n_definitions + 1, sizeof(*d));
	if (!d)
		return cli_error("out of memory");
	o->definitions = d;
	d[o->n_definitions++] = (struct uprobe_definition){ .kind = kind, .text = text };
	return CLI_OK;
}

static int set_event(void *into, const char *arg)
{
	return add_definition(into, DEFINITION_EVENTS, arg);
}

static int set_file(void *into, const char *arg)
{
	return add_definition(into, DEFINITION_FILE, arg);
}

static int set_filter(void *into, const char *arg)
{
	struct uprobe_options *o = into;
	struct uprobe_definition *last;

	if (o->n_definitions == 0)
		return cli_usage_error("a filter comes after the definition it is for");
	last = &o->definitions[o->n_definitions - 1];
	if (last->filter)
		return cli_usage_error("more than one filter for '%s'", last->text);
	last->filter = arg;
	return CLI_OK;
}

/* perf-tools: a definition, then perhaps its filter. */
static int add_word(void *into, const char *word)
{
	struct uprobe_options *o = into;

	switch (o->n_words++) {
	case 0:
		return add_definition(o, DEFINITION_PERF_TOOLS, word);
	case 1:
		if (o->definitions[o->n_definitions - 1].kind == DEFINITION_PERF_TOOLS)
			return set_filter(o, word);
		break;
	}
	return cli_usage_error(
		"'%s' is one word too many (a definition with arguments is quoted "
		"as one word)",
		word);
}

static int set_pids(void *into, const char *arg)
{
	struct uprobe_options *o = into;

	for (const char *p = arg;;) {
		size_t len = strcspn(p, ",");
		char digits[16];
		uint64_t pid;
		pid_t *pids;

		(void)snprintf(digits, sizeof(digits), "%.*s", (int)(len < 15 ? len : 15), p);
		if (!cli_number(digits, 1, INT_MAX, &pid))
			return cli_usage_error("-p takes process ids, not '%s'", arg);
		pids = reallocarray(o->pids, o->n_pids + 1, sizeof(*pids));
		if (!pids)
			return cli_error("out of memory");
		o->pids = pids;
		pids[o->n_pids++] = (pid_t)pid;
		if (!p[len])
			return CLI_OK;
		p += len + 1;
	}
}

static int set_tid(void *into, const char *arg)
{
	struct uprobe_options *o = into;
	uint64_t tid;

	if (!cli_number(arg, 1, INT_MAX, &tid))
		return cli_usage_error("-L takes a thread id, not '%s'", arg);
	if (o->tid)
		return cli_usage_error("-L is given twice");
	o->tid = (pid_t)tid;
	return CLI_OK;
}

static int set_duration(void *into, const char *arg)
{
	struct uprobe_options *o = into;

	if (!cli_seconds(arg, &o->duration_ns))
		return cli_usage_error("-d takes seconds, not '%s'", arg);
	o->duration = arg;
	return CLI_OK;
}

static int set_count(void *into, const char *arg)
{
	struct uprobe_options *o = into;

	if (!cli_number(arg, 1, UINT64_MAX, &o->count))
		return cli_usage_error("-n takes a number of events, not '%s'", arg);
	return CLI_OK;
}

static int set_list(void *into, const char *arg)
{
	((struct uprobe_options *)into)->list = arg;
	return CLI_OK;
}

static int set_output(void *into, const char *arg)
{
	((struct uprobe_options *)into)->output = arg;
	return CLI_OK;
}

static int set_mode(void *into, const char *arg)
{
	static const char *const names[] = {
		[UBP_MODE_AUTO] = "auto",
		[UBP_MODE_JUMP] = "jump",
		[UBP_MODE_TRAP] = "trap",
		[UBP_MODE_STEP] = "step",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			((struct uprobe_options *)into)->mode = (enum ubp_mode)i;
			return CLI_OK;
		}
	}
	return cli_usage_error("--mode takes auto, jump, trap or step, not '%s'", arg);
}

static int set_clock(void *into, const char *arg)
{
	static const char *const names[] = { "mono", "mono_raw", "boot", "real" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			((struct uprobe_options *)into)->clock = arg;
			return CLI_OK;
		}
	}
	return cli_usage_error("--clock takes mono, mono_raw, boot or real, not '%s'", arg);
}

/* The next power of two serves. */
static int set_buffer_size(void *into, const char *arg)
{
	struct uprobe_options *o = into;
	uint64_t kib;

	if (!cli_number(arg, 1, 1 << 20, &kib))
		return cli_usage_error("--buffer-size takes KiB from 1 to 1048576, not '%s'",
				       arg);
	o->ring_bytes = 16384;
	while (o->ring_bytes < kib * 1024)
		o->ring_bytes *= 2;
	return CLI_OK;
}

static int set_ready_fd(void *into, const char *arg)
{
	struct uprobe_options *o = into;
	uint64_t fd;

	if (!cli_number(arg, 0, INT_MAX, &fd) || fcntl((int)fd, F_GETFD) < 0)
		return cli_usage_error("--ready-fd takes an open descriptor, not '%s'", arg);
	o->ready_fd = (int)fd;
	return CLI_OK;
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct uprobe_options, member)

static const struct cli_option table[] = {
	{ 'e', "event", "DEF", .set = set_event,
	  .help = "trace DEF, in the grammar of uprobe_events; repeatable.\n"
		  "The offset may also be SYMBOL, SYMBOL+OFF or a pattern of symbols" },
	{ 'f', "file", "FILE", .set = set_file,
	  .help = "trace the definitions in FILE, a line each ('-': standard input)" },
	{ 0, "filter", "EXPR", .set = set_filter,
	  .help = "only hits for which EXPR is true, of the -e or -f before it" },
	{ 'p', "pid", "PID[,PID]", .set = set_pids, .help = "only these processes" },
	{ 'L', "tid", "TID", .set = set_tid, .help = "only this thread" },
	{ 'd', "duration", "SECS", .set = set_duration,
	  .help = "trace for SECS seconds, keep the events in memory, then print" },
	{ 'n', "count", "COUNT", .set = set_count, .help = "end after COUNT events" },
	{ 's', "stack", FLAG(stack), .help = "print the user stack of each event" },
	{ 'H', "header", FLAG(header), .help = "print the column header first" },
	{ 0, "json", FLAG(json), .help = "print a JSON object for each event, a line each" },
	{ 'o', "output", "FILE", .set = set_output, .help = "write the events to FILE" },
	{ 0, "clock", "NAME", .set = set_clock,
	  .help = "time stamps of mono (default), mono_raw, boot or real" },
	{ 'l', "list", "TARGET", .set = set_list,
	  .help = "list the functions of TARGET (with -p: as that process sees it)" },
	{ 'v', "view-format", FLAG(format),
	  .help = "print the format of the events, trace nothing" },
	{ 0, "check", FLAG(check),
	  .help = "print the definitions as uprobe_events lists them,\ntrace nothing" },
	{ 0, "explain", FLAG(explain),
	  .help = "print how each place would be probed, and why not better,\ntrace nothing" },
	{ 0, "mode", "MODE", .set = set_mode,
	  .help = "how to probe at best: auto (default), jump, trap or step" },
	{ 0, "strict", FLAG(strict), .help = "take the kernel's grammar only" },
	{ 0, "lossless", FLAG(lossless), .help = "let targets wait rather than lose events" },
	{ 0, "buffer-size", "KIB", .set = set_buffer_size,
	  .help = "events recorded without a stop wait in so much memory for each\n"
		  "thread of a target (default 1024)" },
	{ 0, "force", FLAG(force),
	  .help = "probe where it is refused, if that can make sense" },
	{ 'F', NULL, FLAG(no_version_check), .help = "does nothing; for scripts that pass it" },
	{ 0, "stats", FLAG(stats), .help = "at the end, print counts on standard error" },
	{ 0, "ready-fd", "N", .set = set_ready_fd,
	  .help = "write \"ready\" to descriptor N when all is planted" },
	{ 'h', "help", FLAG(help), .help = "print this" },
	{ 0, "version", FLAG(version), .help = "print the version" },
};

static const struct cli_syntax syntax = {
	.usage =
		"[-FhHsv] [-d SECS] [-p PID[,PID]] [-L TID] {-l TARGET | DEFINITION [FILTER]}\n"
		"       uprobe [OPTION]... {-e DEF [--filter EXPR] | -f FILE}... [-- COMMAND "
		"[ARG]...]\n"
		"\n"
		"Trace functions of running programs, and of COMMAND if one is given.\n",
	.about =
		"DEFINITION is one word: {p|r}:[ALIAS ]TARGET:{SYMBOL|SYMBOL+OFF|0xOFFSET} "
		"[ARG]...\n"
		"TARGET is a path, a program in PATH, or a library's name.\n"
		"\n"
		"  uprobe p:bash:readline                       calls of a function\n"
		"  uprobe 'r:bash:readline +0($retval):string'  what it returned, as a string\n"
		"  uprobe 'p:libc:fopen file=+0(%di):string' 'file ~ \"/etc/*\"'\n"
		"  uprobe -p 181 p:libc:malloc                  one process only\n"
		"  uprobe p:libc:getenv -- ls                   a command, from its start\n"
		"  uprobe -l bash                               what can be traced\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = add_word,
};

/* -l stands alone, but for -p and what perf-tools scripts pass blindly. */
static int check_list(const struct uprobe_options *o)
{
	if (o->n_definitions || o->command || o->tid || o->duration || o->count || o->format ||
	    o->check || o->explain || o->json)
		return cli_usage_error("-l takes a target only");
	if (o->n_pids > 1)
		return cli_usage_error("-l takes one process");
	return CLI_OK;
}

static int check(const struct uprobe_options *o)
{
	if (o->list)
		return check_list(o);
	if (o->n_definitions == 0)
		return cli_usage_error("no definition is given");
	if (o->command && !o->command[0])
		return cli_usage_error("no command after '--'");
	if (o->command && (o->n_pids || o->tid))
		return cli_usage_error("a command excludes -p and -L");
	if (o->duration && (o->format || o->check || o->explain))
		return cli_usage_error(
			"-d is for tracing: it excludes -v, --check and --explain");
	if (o->header && o->json)
		return cli_usage_error("-H is for text: it excludes --json");
	return CLI_OK;
}

int uprobe_options_parse(int argc, char **argv, struct uprobe_options *ret_options,
			 bool *ret_done)
{
	struct uprobe_options *o = ret_options;
	int status;

	memset(o, 0, sizeof(*o));
	o->ready_fd = -1;
	*ret_done = true;
	status = cli_parse(&syntax, argc, argv, o, &o->command);
	if (status != CLI_OK)
		return status;
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

void uprobe_options_free(struct uprobe_options *options)
{
	free(options->definitions);
	free(options->pids);
}
