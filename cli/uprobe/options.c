/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/uprobe/options.h"

#include <string.h>

#include "cli/common/form_options.h"
#include "cli/common/message.h"
#include "cli/common/who.h"

static int set_file(void *into, const char *arg)
{
	return trace_options_add_definition(into, DEFINITION_FILE, arg);
}

static int set_lines_of(void *into, const char *arg)
{
	((struct uprobe_options *)into)->lines_of = arg;
	return CLI_OK;
}

static int set_vars(void *into, const char *arg)
{
	((struct uprobe_options *)into)->vars = arg;
	return CLI_OK;
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct uprobe_options, trace.member)

static const struct cli_option table[] = {
	{ 'f', "file", "FILE", .set = set_file,
	  .help = "trace the definitions in FILE, a line each ('-': standard input)" },
	{ 'L', "tid", "TID", .set = who_set_tid, .help = "only this thread" },
	{ 'l', "list", "TARGET [PATTERN]", .is_optional = true, .set = trace_options_set_list,
	  .help = "list the functions of TARGET (with -p: as that process sees it, or\n"
		  "without TARGET of all that it maps); PATTERN: those with such names;\n"
		  "--explain: how they can be probed" },
	{ 0, "lines-of", "FUNCTION", .set = set_lines_of,
	  .help = "list the lines of FUNCTION, of the target that is given, and which can\n"
		  "be probed" },
	{ 0, "vars", "PLACE", .set = set_vars,
	  .help = "list the variables that can be seen at PLACE (a function, FUNCTION:LINE\n"
		  "or FILE:LINE) of the target" },
	TREE_OPTION(trace_options_set_form),
	{ 0, "strict", FLAG(strict), .help = "take the kernel's grammar only" },
};

static const struct cli_syntax syntax = {
	.usage = "[-FhHsv] [-d SECS] [-p PID[,NAME]] [-L TID] {-l TARGET [PATTERN] |\n"
		 "              DEFINITION [FILTER]}\n"
		 "       uprobe [OPTION]... {-e DEF [--filter EXPR] | -f FILE}... [-- COMMAND "
		 "[ARG]...]\n"
		 "\n"
		 "Trace functions of running programs, and of COMMAND if one is given.\n",
	.about =
		"DEFINITION is one word: {p|r}:[ALIAS ]TARGET:PLACE [ARG]...\n"
		"PLACE is SYMBOL[+OFF], 0xOFFSET, a pattern of symbols, cpp:NAME, "
		"FUNCTION:LINE or "
		"FILE:LINE.\n"
		"TARGET is a path, a program in PATH, or a library's name; with wildcards\n"
		"each such file, '*' all that the process of -p maps.\n"
		"\n"
		"  uprobe p:bash:readline                       calls of a function\n"
		"  uprobe 'r:bash:readline +0($retval):string'  what it returned, as a string\n"
		"  uprobe 'p:libc:fopen file=+0(%di):string' 'file ~ \"/etc/*\"'\n"
		"  uprobe -p 181 p:libc:malloc                  one process only\n"
		"  uprobe p:libc:getenv -- ls                   a command, from its start\n"
		"  uprobe 'p:./app:parse buf=req->buf:string'    variables, by debug "
		"information\n"
		"  uprobe -l bash 'read*'                       what can be traced\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = trace_options_add_word,
	.word = "DEF",
};

/* They have one word, the target. */
static int check_source(const struct trace_options *o)
{
	const struct uprobe_options *own = (const struct uprobe_options *)o;

	if (o->n_definitions == 0)
		return cli_usage_error("%s takes a target, too: %s=%s TARGET",
				       own->vars ? "--vars" : "--lines-of",
				       own->vars ? "--vars" : "--lines-of",
				       own->vars ? own->vars : own->lines_of);
	if (o->n_definitions != 1 || o->definitions[0].kind != DEFINITION_WORD ||
	    o->definitions[0].filter || o->command || o->lists.is_list)
		return cli_usage_error("--lines-of and --vars take a target only");
	return CLI_OK;
}

static int check(const struct trace_options *o)
{
	const struct uprobe_options *own = (const struct uprobe_options *)o;

	if (own->lines_of || own->vars)
		return check_source(o);
	if (!o->lists.is_list)
		return trace_options_check(o);
	if (!o->lists.list && !o->who.n_pids)
		return cli_usage_error("-l takes a target, or a process (-p)");
	return trace_options_check_list(o);
}

int uprobe_options_parse(int argc, char **argv, struct uprobe_options *ret_options,
			 bool *ret_done)
{
	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->trace.what = "uprobe";
	return trace_options_parse(&syntax, argc, argv, &ret_options->trace, check, ret_done);
}

void uprobe_options_free(struct uprobe_options *options)
{
	trace_options_free(&options->trace);
}
