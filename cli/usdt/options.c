/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/usdt/options.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/who.h"

#define FLAG(member) .is_flag = true, .flag = offsetof(struct usdt_options, member)

static const struct cli_option table[] = {
	{ 'l', "list", FLAG(list),
	  .help = "list the static probes of TARGET (with -p: as that process sees it;\n"
		  "without TARGET: of all it maps); PATTERN: those with such names" },
	{ 'L', "list-args", FLAG(details),
	  .help = "the same with each location, its arguments and semaphore" },
	{ 'e', "event", "PROBE", .set = trace_options_set_event,
	  .help = "trace PROBE; repeatable" },
	{ 0, "tid", "TID", .set = who_set_tid, .help = "only this thread" },
	{ 'i', "is-enabled", FLAG(raise_semaphore),
	  .help = "does nothing: semaphores are always seen to" },
};

static const struct cli_syntax syntax = {
	.usage = "[-FhHisv] [-d SECS] [-p PID[,NAME]] {-l | -L} [TARGET [PATTERN]]\n"
		 "       usdt [-FhHisv] [-d SECS] [-p PID[,NAME]] PROBE [FILTER]\n"
		 "       usdt [OPTION]... {-e PROBE [--filter EXPR]}... [-- COMMAND [ARG]...]\n"
		 "\n"
		 "Trace static probes (USDT) of running programs, and of COMMAND if one is "
		 "given.\n",
	.about = "PROBE is one word: [p:[ALIAS] ][TARGET:]PROVIDER:NAME [ARG]...\n"
		 "TARGET is a path, a program in PATH, or a library's name. Without it the "
		 "probe "
		 "is\n"
		 "sought in what the processes of -p map, else in COMMAND, in a program or "
		 "library\n"
		 "called PROVIDER, and in all running programs. PROVIDER and NAME may be "
		 "patterns.\n"
		 "In ARG, argN stands for the probe's Nth argument; without any ARG all are "
		 "printed.\n"
		 "\n"
		 "  usdt python3:python:gc__start                with all its arguments\n"
		 "  usdt -p 181 'postgresql:query__start arg1:string'\n"
		 "  usdt 'postgresql:lwlock*'                    those with such names\n"
		 "  usdt 'ruby:cmethod__entry class=arg1:string' 'class ~ \"Arr*\"'\n"
		 "  usdt -l postgres                             what can be traced\n"
		 "  usdt -L postgres 'postgresql:lock*'          and with which arguments\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = trace_options_add_word,
	.word = "PROBE",
};

/* Its words are a target and a pattern, or none with -p. */
static int check_list(const struct trace_options *o)
{
	struct trace_options without_words = *o;

	if (o->n_definitions && o->definitions[0].kind != DEFINITION_WORD)
		return cli_usage_error("-l and -L take a target, and perhaps a pattern, only");
	if (!o->n_definitions && !o->who.n_pids)
		return cli_usage_error("-l and -L take a target, or -p PID");
	without_words.n_definitions -= o->n_definitions != 0;
	return trace_options_check_list(&without_words);
}

static int check(const struct trace_options *o)
{
	const struct usdt_options *own = (const struct usdt_options *)o;

	return own->list || own->details ? check_list(o) : trace_options_check(o);
}

int usdt_options_parse(int argc, char **argv, struct usdt_options *ret_options, bool *ret_done)
{
	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->trace.what = "usdt probe";
	return trace_options_parse(&syntax, argc, argv, &ret_options->trace, check, ret_done);
}

void usdt_options_free(struct usdt_options *options)
{
	trace_options_free(&options->trace);
}
