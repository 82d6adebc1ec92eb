/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/complete/complete.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"

#define DEFAULT_ROUNDS 7
#define HOT_ROUNDS     1
#define DEFAULT_HITS   50000
#define END_ROUNDS     3
#define END_HITS       2000000
#define LIST_MAX       16

static const struct bench_mode modes[BENCH_MODES_MAX] = {
	{ "auto", UBP_MODE_AUTO },
	{ "jump", UBP_MODE_JUMP },
	{ "trap", UBP_MODE_TRAP },
	{ "step", UBP_MODE_STEP },
};

/* --- values ------------------------------------------------------------------------- */

/* Each word of "A,B,C". Stops at the first that @add does not take. */
static int each_word(struct bench_options *o, const char *list,
		     int (*add)(struct bench_options *o, const char *word))
{
	char word[32];
	int status = CLI_OK;

	for (const char *p = list; status == CLI_OK; p++) {
		size_t len = strcspn(p, ",");

		(void)snprintf(word, sizeof(word), "%.*s",
			       (int)(len < sizeof(word) ? len : sizeof(word) - 1), p);
		status = add(o, word);
		p += len;
		if (!*p)
			break;
	}
	return status;
}

static int add_case(struct bench_options *o, const char *word)
{
	const struct bench_case *c = bench_case_by_name(word);
	char names[256];

	if (strcmp(word, "all") == 0) {
		for (c = bench_cases; c->name && o->n_cases < LIST_MAX; c++)
			o->cases[o->n_cases++] = c;
		return CLI_OK;
	}
	bench_case_names(names, sizeof(names));
	if (!c)
		return cli_usage_error("--case takes all or some of %s, not '%s'", names, word);
	if (o->n_cases == LIST_MAX)
		return cli_usage_error("too many cases");
	o->cases[o->n_cases++] = c;
	return CLI_OK;
}

static int add_first(struct bench_options *o, const char *word)
{
	const struct bench_first *f = bench_first_by_name(word);
	char names[256];

	if (strcmp(word, "all") == 0) {
		for (f = bench_firsts; f->name && o->n_firsts < LIST_MAX; f++)
			o->firsts[o->n_firsts++] = f;
		return CLI_OK;
	}
	bench_first_names(names, sizeof(names));
	if (!f)
		return cli_usage_error("--first takes all or some of %s, not '%s'", names,
				       word);
	if (o->n_firsts == LIST_MAX)
		return cli_usage_error("too many first instructions");
	o->firsts[o->n_firsts++] = f;
	return CLI_OK;
}

static int add_threads(struct bench_options *o, const char *word)
{
	uint64_t n;

	if (!cli_number(word, 1, BENCH_THREADS_MAX, &n))
		return cli_usage_error("--threads takes numbers from 1 to %d, not '%s'",
				       BENCH_THREADS_MAX, word);
	if (o->n_threads == LIST_MAX)
		return cli_usage_error("too many numbers of threads");
	o->threads[o->n_threads++] = (unsigned)n;
	return CLI_OK;
}

static int add_mode(struct bench_options *o, const char *word)
{
	bool all = strcmp(word, "all") == 0, known = all;

	for (size_t i = 0; i < BENCH_MODES_MAX; i++) {
		bool has = false;

		/* "jump" is what auto does at best: once is enough. */
		if (all ? modes[i].mode == UBP_MODE_JUMP : strcmp(word, modes[i].name) != 0)
			continue;
		known = true;
		for (size_t j = 0; j < o->n_modes; j++)
			has = has || o->modes[j].mode == modes[i].mode;
		if (!has)
			o->modes[o->n_modes++] = modes[i];
	}
	if (!known)
		return cli_usage_error(
			"--mode takes all or some of auto, jump, trap, step, not '%s'", word);
	return CLI_OK;
}

static int set_case(void *into, const char *arg)
{
	return each_word(into, arg, add_case);
}

static int set_first(void *into, const char *arg)
{
	return each_word(into, arg, add_first);
}

static int set_threads(void *into, const char *arg)
{
	return each_word(into, arg, add_threads);
}

static int set_mode(void *into, const char *arg)
{
	return each_word(into, arg, add_mode);
}

static int set_rounds(void *into, const char *arg)
{
	struct bench_options *o = into;
	uint64_t n;

	if (!cli_number(arg, 1, 10000, &n))
		return cli_usage_error("--rounds takes a number from 1 to 10000, not '%s'",
				       arg);
	o->rounds = (unsigned)n;
	return CLI_OK;
}

static int set_hits(void *into, const char *arg)
{
	struct bench_options *o = into;

	if (!cli_number(arg, 1, 10000000, &o->hits))
		return cli_usage_error("--hits takes a number from 1 to 10000000, not '%s'",
				       arg);
	return CLI_OK;
}

static int set_idle(void *into, const char *arg)
{
	struct bench_options *o = into;
	uint64_t n;

	if (!cli_number(arg, 0, BENCH_IDLE_MAX, &n))
		return cli_usage_error("--idle takes a number up to %d, not '%s'",
				       BENCH_IDLE_MAX, arg);
	o->idle = (unsigned)n;
	return CLI_OK;
}

static int set_kernel(void *into, const char *arg)
{
	static const char *const names[] = {
		[KERNEL_AUTO] = "auto",
		[KERNEL_TRACEFS] = "tracefs",
		[KERNEL_PERF] = "perf",
		[KERNEL_NONE] = "none",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			((struct bench_options *)into)->kernel = (enum kernel_kind)i;
			return CLI_OK;
		}
	}
	return cli_usage_error("--kernel takes auto, tracefs, perf or none, not '%s'", arg);
}

static int set_json(void *into, const char *arg)
{
	((struct bench_options *)into)->json = arg;
	return CLI_OK;
}

static int set_event(void *into, const char *arg)
{
	struct bench_options *o = into;

	if (VEC_FIT(o->events, o->n_events + 1) < 0)
		return cli_error("out of memory");
	o->events[o->n_events++] = (struct bench_event){ .text = arg };
	return CLI_OK;
}

static int set_filter(void *into, const char *arg)
{
	struct bench_options *o = into;

	if (o->n_events == 0)
		return cli_usage_error("a filter comes after the definition it is for");
	if (o->events[o->n_events - 1].filter)
		return cli_usage_error("more than one filter for '%s'",
				       o->events[o->n_events - 1].text);
	o->events[o->n_events - 1].filter = arg;
	return CLI_OK;
}

static int set_coverage(void *into, const char *arg)
{
	struct bench_options *o = into;

	if (VEC_FIT(o->coverage, o->n_coverage + 1) < 0)
		return cli_error("out of memory");
	o->coverage[o->n_coverage++] = arg;
	return CLI_OK;
}

static int add_word(void *into, const char *word)
{
	(void)into;
	return cli_usage_error("'%s' is one word too many", word);
}

/* --- the table ---------------------------------------------------------------------- */

#define FLAG(member) .is_flag = true, .flag = offsetof(struct bench_options, member)

static const struct cli_option table[] = {
	{ 0, "rounds", "N", .set = set_rounds,
	  .help = "measure each N times, alternating (7; with --hot: 1)" },
	{ 0, "hits", "N", .set = set_hits,
	  .help = "calls of a probed function in a run (50000)" },
	{ 0, "case", "NAME,...", .set = set_case,
	  .help = "what the probe does: count, int, string, return, both,\nhit, miss or all" },
	{ 0, "first", "NAME,...", .set = set_first,
	  .help = "first instruction of the function: push, nop, nop5,\nendbr64, mov or all" },
	{ 0, "threads", "N,...", .set = set_threads, .help = "threads that call, together" },
	{ 0, "idle", "N", .set = set_idle, .help = "threads that sleep all the time (0)" },
	{ 0, "mode", "MODE,...", .set = set_mode,
	  .help = "modes of ubp: auto, jump, trap, step or all (auto,trap)" },
	{ 0, "kernel", "WAY", .set = set_kernel,
	  .help = "the kernel's uprobes by tracefs, perf (perf_event_open),\n"
		  "auto (what there is) or none" },
	{ 0, "reader", FLAG(reader),
	  .help = "measure a second time, with a live reader of the events\n"
		  "(of the selection: the case string)" },
	{ 0, "pin", FLAG(pin), .help = "keep each calling thread on one CPU (default)" },
	{ 0, "no-pin", FLAG(no_pin), .help = "do not" },
	{ 'e', "event", "DEF", .set = set_event,
	  .help = "with a COMMAND: probe DEF, in the grammar of uprobe_events;\nrepeatable" },
	{ 0, "filter", "EXPR", .set = set_filter, .help = "the filter of the -e before it" },
	{ 0, "coverage", "FILE", .set = set_coverage,
	  .help = "measure nothing: count how many places of FILE (a path,\n"
		  "program or library) can be probed, and how; repeatable" },
	{ 0, "all", FLAG(all),
	  .help = "with --coverage: all instructions, too, which takes long" },
	{ 0, "hot", FLAG(hot),
	  .help = "with a COMMAND: run it without and with ubp, and show at\n"
		  "which places threads were stopped, how often, why there,\n"
		  "and how fast it was" },
	{ 0, "end-to-end", FLAG(end_to_end),
	  .help = "what a hit costs until the event is in a file: recorded, as text,\n"
		  "as JSON, and by other tracers that are installed" },
	{ 0, "json", "FILE", .set = set_json,
	  .help = "write the results to FILE as JSON; '-': to standard\n"
		  "output, and no table" },
	{ 'h', "help", FLAG(help), .help = "print this" },
	{ 0, "version", FLAG(version), .help = "print the version" },
};

static const struct cli_syntax syntax = {
	.usage = "[OPTION]...\n"
		 "       ubp-bench [OPTION]... -e DEF [--filter EXPR] [-e DEF]... -- COMMAND "
		 "[ARG]...\n"
		 "       ubp-bench --hot [--rounds N] [--json FILE] [-e DEF [--filter "
		 "EXPR]]...\n"
		 "                 -- COMMAND [ARG]...\n"
		 "       ubp-bench [--all] [--json FILE] --coverage FILE...\n"
		 "       ubp-bench [--rounds N] [--hits N] [--threads N,...] [--json FILE] "
		 "--end-to-end\n"
		 "\n"
		 "What a probe costs, with ubp and with the kernel's uprobes, side by side.\n",
	.about = "Without --case, --first and --threads a selection is measured; with one of "
		 "them,\n"
		 "all combinations of what is given (else: string, push, 1).\n"
		 "\n"
		 "  ubp-bench --json results.json              all, a few minutes\n"
		 "  ubp-bench --case string --first push,endbr64\n"
		 "  ubp-bench --threads 1,2,4 --no-pin --mode auto\n"
		 "  ubp-bench -e p:libc:malloc -- python3 -c 'import json'\n"
		 "  ubp-bench --hot -e 'p:libc:*' -- python3 -c 'import json'\n"
		 "  ubp-bench --coverage libc --coverage python3\n",
	.options = table,
	.n_options = sizeof(table) / sizeof(table[0]),
	.positional = add_word,
	.has_command = true,
};

/* --- rows --------------------------------------------------------------------------- */

static int too_few_hits(const struct bench_options *o, unsigned threads)
{
	return cli_usage_error("--hits %" PRIu64 " is less than the %u threads", o->hits,
			       threads);
}

static int add_row(struct bench_options *o, const struct bench_case *c,
		   const struct bench_first *first, unsigned threads)
{
	if (o->hits < threads)
		return too_few_hits(o, threads);
	if (VEC_FIT(o->rows, o->n_rows + 1) < 0)
		return cli_error("out of memory");
	o->rows[o->n_rows++] = (struct bench_row){ c, first, threads };
	return CLI_OK;
}

/* Every case on the usual functions; one case on the others and by more threads. */
static int add_selection(struct bench_options *o)
{
	int status = CLI_OK;

	for (const struct bench_case *c = bench_cases; c->name; c++)
		for (const struct bench_first *f = bench_firsts; f->name; f++)
			if (status == CLI_OK && (f->is_default || c->is_standard))
				status = add_row(o, c, f, 1);
	for (const struct bench_case *c = bench_cases; c->name; c++)
		for (unsigned n = 2; n <= 4 && c->is_standard && status == CLI_OK; n += 2)
			status = add_row(o, c, &bench_firsts[0], n);
	return status;
}

static int add_rows(struct bench_options *o)
{
	int status = CLI_OK;

	o->is_selection = true;
	if (!o->n_cases && !o->n_firsts && !o->n_threads)
		return add_selection(o);
	o->is_selection = false;
	if (!o->n_cases)
		status = add_case(o, "string");
	if (!o->n_firsts)
		o->firsts[o->n_firsts++] = &bench_firsts[0];
	if (!o->n_threads)
		o->threads[o->n_threads++] = 1;
	for (size_t i = 0; i < o->n_cases; i++)
		for (size_t j = 0; j < o->n_firsts; j++)
			for (size_t k = 0; k < o->n_threads && status == CLI_OK; k++)
				status = add_row(o, o->cases[i], o->firsts[j], o->threads[k]);
	return status;
}

static int check(struct bench_options *o)
{
	if (o->pin && o->no_pin)
		return cli_usage_error("--pin excludes --no-pin");
	if (o->coverage && (o->command || o->n_events || o->n_cases || o->n_firsts ||
			    o->n_threads || o->n_modes || o->reader))
		return cli_usage_error("--coverage measures nothing: it stands alone");
	if (o->end_to_end && (o->command || o->coverage || o->hot || o->n_events ||
			      o->n_cases || o->n_firsts || o->n_modes || o->reader || o->idle))
		return cli_usage_error("--end-to-end takes --rounds, --hits, --threads and "
				       "--json, nothing else");
	for (size_t i = 0; o->end_to_end && i < o->n_threads; i++)
		if (o->hits && o->hits < o->threads[i])
			return too_few_hits(o, o->threads[i]);
	if (o->all && !o->coverage)
		return cli_usage_error("--all is for --coverage");
	if (o->command && !o->command[0])
		return cli_usage_error("no command after '--'");
	if (o->hot && !o->command)
		return cli_usage_error("--hot is for a command: --hot -- COMMAND");
	if (o->hot && (o->n_modes || o->reader || o->kernel != KERNEL_AUTO))
		return cli_usage_error("--hot excludes --mode, --kernel and --reader");
	if (o->command && !o->n_events && !o->hot)
		return cli_usage_error("a command needs definitions (-e)");
	if (!o->command && o->n_events)
		return cli_usage_error("-e is for a command: -e DEF -- COMMAND");
	if (o->command && (o->n_cases || o->n_firsts || o->n_threads || o->idle))
		return cli_usage_error(
			"a command excludes --case, --first, --threads and --idle");
	return CLI_OK;
}

int bench_options_parse(int argc, char **argv, struct bench_options *ret_options,
			bool *ret_done)
{
	struct bench_options *o = ret_options;
	int status;

	memset(o, 0, sizeof(*o));
	*ret_done = true;
	if (complete(&syntax, argc, argv))
		return CLI_OK;
	status = cli_parse(&syntax, argc, argv, o, &o->command);
	if (status != CLI_OK)
		return status;
	if (o->help) {
		cli_print_help(&syntax);
		return CLI_OK;
	}
	if (o->version) {
		printf("%s " UBP_VERSION "\n", cli_program);
		return CLI_OK;
	}
	status = check(o);
	o->pin = !o->no_pin;
	if (!o->rounds)
		o->rounds = o->end_to_end ? END_ROUNDS : o->hot ? HOT_ROUNDS : DEFAULT_ROUNDS;
	if (!o->hits)
		o->hits = o->end_to_end ? END_HITS : DEFAULT_HITS;
	if (status == CLI_OK && !o->n_modes)
		status = set_mode(o, "auto,trap");
	if (status == CLI_OK && !o->command && !o->coverage && !o->end_to_end)
		status = add_rows(o);
	*ret_done = status != CLI_OK;
	return status;
}

void bench_options_free(struct bench_options *options)
{
	free(options->rows);
	free(options->events);
	free(options->coverage);
}
