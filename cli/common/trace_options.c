/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/trace_options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/control.h"
#include "cli/common/form.h"
#include "cli/common/form_options.h"
#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/trace_word.h"
#include "cli/common/tui.h"
#include "cli/common/who.h"
#include "cli/complete/complete.h"
#include "cli/hosts/hosts.h"
#include "cli/live/option_rows.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"

#define FRAMES_MAX 127

int trace_options_add_definition(struct trace_options *o, enum definition_kind kind,
				 const char *text)
{
	if (VEC_FIT(o->definitions, o->n_definitions + 1) < 0)
		return cli_error("out of memory");
	o->definitions[o->n_definitions++] =
		(struct trace_definition){ .kind = kind, .text = text };
	return CLI_OK;
}

int trace_options_set_event(void *into, const char *arg)
{
	return trace_options_add_definition(into, DEFINITION_EVENTS, arg);
}

bool trace_options_prints_data(const struct trace_options *o)
{
	return o->form.is_data && !o->to.output && !o->to.otlp;
}

int trace_options_set_form(void *into, const char *name)
{
	struct trace_options *o = into;

	if (strcmp(o->form.name, "text") != 0 && strcmp(o->form.name, name) != 0)
		return cli_usage_error("--%s has a form of its own: it excludes --%s", name,
				       o->form.name);
	(void)ubp_sink_form(name, &o->form);
	return CLI_OK;
}

static int set_otlp(void *into, const char *arg)
{
	struct trace_options *o = into;

	o->to.otlp = arg;
	o->tally.with_sum = true;
	return trace_options_set_form(into, "otlp");
}

static int set_filter(void *into, const char *arg)
{
	struct trace_options *o = into;
	struct trace_definition *last;

	if (o->n_definitions == 0) {
		if (o->live.filter)
			return cli_usage_error("more than one filter");
		o->live.filter = arg;
		return CLI_OK;
	}
	last = &o->definitions[o->n_definitions - 1];
	if (last->filter)
		return cli_usage_error("more than one filter for '%s'", last->text);
	last->filter = arg;
	return CLI_OK;
}

/* perf-tools: a definition, then perhaps its filter. */
int trace_options_add_word(void *into, const char *word)
{
	struct trace_options *o = into;

	/* Of an event that is there: live_check(). */
	if (o->live.filter && !o->n_words++)
		return trace_options_add_definition(o, DEFINITION_WORD, word);
	if (trace_word_check_form(word) != CLI_OK)
		return CLI_USAGE;
	switch (o->n_words++) {
	case 0:
		return trace_options_add_definition(o, DEFINITION_WORD, word);
	case 1:
		if (o->definitions[o->n_definitions - 1].kind == DEFINITION_WORD)
			return set_filter(o, word);
		break;
	}
	return cli_usage_error(
		"'%s' is one word too many (a definition with arguments is quoted "
		"as one word)",
		word);
}

static int set_duration(void *into, const char *arg)
{
	struct trace_options *o = into;

	if (!cli_seconds(arg, &o->ends.duration_ns))
		return cli_usage_error("-d takes seconds, not '%s'", arg);
	o->ends.duration = arg;
	return CLI_OK;
}

static int set_count(void *into, const char *arg)
{
	struct trace_options *o = into;

	if (!cli_number(arg, 1, UINT64_MAX, &o->ends.count))
		return cli_usage_error("-n takes a number of events, not '%s'", arg);
	return CLI_OK;
}

int trace_options_set_list(void *into, const char *arg)
{
	struct trace_options *o = into;

	o->lists.is_list = true;
	o->lists.list = arg;
	return CLI_OK;
}

static int set_output(void *into, const char *arg)
{
	((struct trace_options *)into)->to.output = arg;
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
			((struct trace_options *)into)->mode = (enum ubp_mode)i;
			return CLI_OK;
		}
	}
	return cli_usage_error("--mode takes auto, jump, trap or step, not '%s'", arg);
}

static int set_time(void *into, const char *arg)
{
	return text_take_time(&((struct trace_options *)into)->to.text, arg);
}

static int set_colour(void *into, const char *arg)
{
	return text_take_colour(&((struct trace_options *)into)->to.text, arg);
}

static int set_clock(void *into, const char *arg)
{
	static const char *const names[] = { "mono", "mono_raw", "boot", "real" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			((struct trace_options *)into)->clock = arg;
			return CLI_OK;
		}
	}
	return cli_usage_error("--clock takes mono, mono_raw, boot or real, not '%s'", arg);
}

/* The next power of two serves. */
static int set_buffer_size(void *into, const char *arg)
{
	struct trace_options *o = into;
	uint64_t kib;

	if (!cli_number(arg, 1, 1 << 20, &kib))
		return cli_usage_error("--buffer-size takes KiB from 1 to 1048576, not '%s'",
				       arg);
	o->budget.ring_bytes = 16384;
	while (o->budget.ring_bytes < kib * 1024)
		o->budget.ring_bytes *= 2;
	return CLI_OK;
}

static int set_max_rate(void *into, const char *arg)
{
	if (!cli_number(arg, 1, UINT64_MAX, &((struct trace_options *)into)->budget.rate))
		return cli_usage_error("--max-rate takes hits a second, from 1, not '%s'", arg);
	return CLI_OK;
}

static int set_max_overhead(void *into, const char *arg)
{
	if (!cli_number(arg, 1, 100, &((struct trace_options *)into)->budget.overhead))
		return cli_usage_error(
			"--max-overhead takes percent of a CPU, from 1 to 100, not '%s'", arg);
	return CLI_OK;
}

static int set_ready_fd(void *into, const char *arg)
{
	struct trace_options *o = into;
	uint64_t fd;

	if (!cli_number(arg, 0, INT_MAX, &fd) || fcntl((int)fd, F_GETFD) < 0)
		return cli_usage_error("--ready-fd takes an open descriptor, not '%s'", arg);
	o->steer.ready_fd = (int)fd;
	return CLI_OK;
}

static int set_control(void *into, const char *arg)
{
	((struct trace_options *)into)->steer.control = arg;
	return control_check(arg);
}

/* As perf record has it. */
static int set_delay(void *into, const char *arg)
{
	struct steer_options *steer = &((struct trace_options *)into)->steer;
	uint64_t ms = 0;

	if (strcmp(arg, "-1") != 0 && !cli_number(arg, 0, INT_MAX, &ms))
		return cli_usage_error("-D takes milliseconds, or -1, not '%s'", arg);
	steer->is_off = ms || *arg == '-';
	steer->delay_ns = ms * 1000000;
	return CLI_OK;
}

static int set_stack_kind(void *into, const char *arg)
{
	struct trace_options *o = into;

	if (strcmp(arg, "cfi") == 0)
		o->stacks.kind = UBP_STACK_CFI;
	else if (strcmp(arg, "unwind") == 0)
		o->stacks.kind = UBP_STACK_UNWIND;
	else if (strcmp(arg, "fp") == 0)
		o->stacks.kind = UBP_STACK_FP;
	else
		return cli_usage_error("--stack takes cfi, unwind or fp, not '%s'", arg);
	return CLI_OK;
}

static int set_frames(void *into, const char *arg)
{
	if (!cli_number(arg, 1, FRAMES_MAX, &((struct trace_options *)into)->stacks.frames))
		return cli_usage_error("--frames takes a number from 1 to %d, not '%s'",
				       FRAMES_MAX, arg);
	return CLI_OK;
}

static int add_exclude(void *into, const char *arg)
{
	struct trace_options *o = into;

	/* Parameters of C++ have commas, too. */
	if (strchr(arg, ',') && !strchr(arg, '(') && !strchr(arg, '<'))
		cli_warn(NULL, "--exclude takes one pattern, a ',' is part of it; give it "
			       "again for each");
	if (VEC_FIT(o->exclude.v, o->exclude.n + 2) < 0)
		return cli_error("out of memory");
	o->exclude.v[o->exclude.n++] = arg;
	o->exclude.v[o->exclude.n] = NULL;
	return CLI_OK;
}

static int add_debug_dir(void *into, const char *arg)
{
	struct trace_options *o = into;
	char *dirs = NULL;

	if (asprintf(&dirs, "%s%s%s", o->debug.dirs ? o->debug.dirs : "",
		     o->debug.dirs ? ":" : "", arg) < 0)
		return cli_error("out of memory");
	free(o->debug.dirs);
	o->debug.dirs = dirs;
	return CLI_OK;
}

static int set_symbols(void *into, const char *arg)
{
	((struct trace_options *)into)->debug.symbols = arg;
	return CLI_OK;
}

static int set_sample(void *into, const char *arg)
{
	struct ubp_err err;

	if (ubp_sample_check(arg, &err) < 0)
		return cli_usage_error("--sample: %s", err.text);
	((struct trace_options *)into)->budget.sample = arg;
	return CLI_OK;
}

#define FLAG(member) .is_flag = true, .flag = offsetof(struct trace_options, member)

/* Of --count and --by; arguments of events are others. */
#define KEYS "event comm pid tid cpu function stack"

static const struct cli_option table[] = {
	{ 'e', "event", "DEF", .set = trace_options_set_event,
	  .help = "trace DEF, in the grammar of uprobe_events; repeatable.\n"
		  "The offset may also be SYMBOL, SYMBOL+OFF or a pattern of symbols" },
	{ 0, "filter", "EXPR", .set = set_filter,
	  .help = "only hits for which EXPR is true, of the -e or -f before it" },
	{ 0, "allocates", "PTR[:SIZE]", .set = heap_set_allocates,
	  .help = "hits of the definition before it allocate a block at PTR, of SIZE bytes,\n"
		  "each an argument: what lives is printed by stack at the end" },
	{ 0, "frees", "PTR", .set = heap_set_frees,
	  .help = "hits of the definition before it free the block at PTR" },
	{ 0, "trigger", "TEXT", .set = trigger_add,
	  .help = "what is done at hits of the definition before it, in the language of\n"
		  "the kernel's event triggers: hist:keys=..., traceoff if ...;\n"
		  "repeatable; histograms are printed at the end" },
	{ 0, "snapshot-after", "MS", .set = trigger_set_after,
	  .help = "what comes in MS milliseconds behind a snapshot is printed, too" },
	{ 0, "synthetic", "TEXT", .set = trigger_add_synthetic,
	  .help = "define an event that triggers make: 'NAME TYPE FIELD; ...'; repeatable" },
	{ 'p', "pid", "PID[,NAME]", .set = who_set_pids,
	  .help = "only these processes, by number or by name" },
	{ 'u', "user", "USER", .set = who_set_user,
	  .help = "only processes of USER, a name or a number" },
	{ 0, "cgroup", "PATH", .set = who_set_cgroup,
	  .help = "only processes in this control group, or below it" },
	{ 0, "container", "ID", .set = who_set_container,
	  .help = "only processes of this container: an id, 12 digits of it or more, or\n"
		  "a name" },
	{ 0, "follow", FLAG(who.follow),
	  .help = "with -p: also the processes that these give birth to (default with a\n"
		  "command)" },
	{ 0, "no-follow", FLAG(who.no_follow),
	  .help = "with a command: not the processes that it gives birth to (default\n"
		  "with -p)" },
	{ 'd', "duration", "SECS", .set = set_duration,
	  .help = "trace for SECS seconds, keep the events in memory, then print" },
	{ 'D', "delay", "MS", .set = set_delay,
	  .help = "record nothing for MS milliseconds; -1: until --control says so" },
	{ 'n', NULL, "COUNT", .set = set_count, .help = "end after COUNT events" },
	{ 0, "count", "KEY[,KEY]", .values = KEYS, .is_attached = true, .set = tally_set_count,
	  .help = "count hits, print no events: by event, or by KEY, each an argument,\n"
		  "comm, pid, tid, cpu, event, function or ustack (stack).\n"
		  "--count=NUMBER is -n" },
	{ 0, "hist", "ARG[:STEP]", .is_attached = true, .set = tally_set_hist,
	  .help = "count hits by powers of two of ARG, or in steps of STEP; without\n"
		  "ARG by the first argument" },
	{ 0, "sum", "ARG", .set = tally_set_sum,
	  .help = "sum, least, most and mean of ARG, by event" },
	{ 0, "by", "KEY[,KEY]", .values = KEYS, .set = tally_set_by,
	  .help = "--hist, --sum: for each KEY, in place of each event" },
	{ 0, "top", "N", .set = tally_set_top, .help = "of what is counted, the N largest" },
	{ 0, "every", "SECS", .set = tally_set_every,
	  .help = "print what is counted each SECS seconds, not only at the end" },
	{ 0, "with-events", FLAG(tally.with_events),
	  .help = "print the events, too; they are recorded then, and none is lost" },
	{ 's', NULL, FLAG(stacks.asked), .help = "print the user stack of each event" },
	{ 0, "stack", "KIND", .values = "cfi unwind fp", .set = set_stack_kind,
	  .help = "the same by call frame information (cfi, default), by libunwind\n"
		  "(unwind), or by frame pointers (fp), which needs no stop where there\n"
		  "is a jump" },
	{ 0, "frames", "N", .set = set_frames, .help = "at most N entries of each stack" },
	{ 0, "lines", FLAG(stacks.lines),
	  .help = "source lines and inlined functions in stacks" },
	{ 0, "stack-raw", FLAG(stacks.raw),
	  .help = "addresses in stacks, as the kernel has them" },
	{ 0, "folded", .choose = trace_options_set_form,
	  .help = "count equal stacks, print them at the end, a line each, for\n"
		  "flame graphs" },
	{ 'H', "header", FLAG(header), .help = "print the column header first" },
	{ 0, "json", .choose = trace_options_set_form,
	  .help = "print a JSON object for each event, a line each" },
	FORM_OPTIONS(trace_options_set_form),
	{ 'o', "output", "FILE", .set = set_output, .help = "write the events to FILE" },
	{ 0, "tui", FLAG(to.tui),
	  .help = "a table on the terminal in place of lines: hits a second, latencies" },
	{ 0, "flame", "FILE", .set = pictures_set_flame,
	  .help = "at the end, a flame graph of stacks or calls to FILE: .svg, or .html for\n"
		  "a page with more views" },
	{ 0, "heat", "FILE", .set = pictures_set_heat,
	  .help = "the same with latencies over time as a heat map" },
	{ 0, "record", "FILE", .set = record_set_path,
	  .help = "write the events to FILE as they are, for ubp-report" },
	{ 0, "compress", "LEVEL", .is_attached = true, .set = record_set_level,
	  .help = "with --record: packed by zstd, at LEVEL from 1 (default) to 19" },
	{ 0, "max-size", "SIZE", .set = record_set_max_size,
	  .help = "with --record: end when FILE has so many bytes, as 500MiB" },
	{ 0, "rotate", "SIZE[,N]", .set = record_set_rotate,
	  .help = "with --record: begin another file when FILE has so many bytes; FILE\n"
		  "becomes FILE.1, FILE.2, ...; only N files are kept" },
	{ 0, "append", FLAG(to.append),
	  .help = "to what is in FILE of -o or --record; SIGHUP opens FILE anew" },
	{ 0, "prometheus", "[ADDR:]PORT", .set = prometheus_set,
	  .help = "answer Prometheus at PORT: hits, losses, and what is counted; of\n"
		  "this host alone, unless ADDR is another of its addresses" },
	{ 0, "otlp", "FILE|URL", .set = set_otlp,
	  .help = "spans of calls, log records and metrics as OTLP/JSON, to FILE or to\n"
		  "the OpenTelemetry collector at URL" },
	TEXT_OPTIONS(set_time, set_colour),
	{ 0, "clock", "NAME", .values = "mono mono_raw boot real", .set = set_clock,
	  .help = "time stamps of mono (default), mono_raw, boot or real" },
	{ 'v', "view-format", FLAG(only.format),
	  .help = "print the format of the events, trace nothing" },
	{ 0, "check", FLAG(only.check),
	  .help = "print the definitions as uprobe_events lists them,\ntrace nothing" },
	{ 0, "definition", FLAG(only.definition),
	  .help = "print the definitions as any kernel takes them, trace nothing" },
	{ 0, "explain", FLAG(only.explain),
	  .help = "print how each place would be probed, and why not better,\ntrace nothing" },
	{ 0, "exclude", "PATTERN", .set = add_exclude,
	  .help = "names that patterns and lists leave out; repeatable" },
	{ 0, "debug-dir", "DIR", .set = add_debug_dir,
	  .help = "separate debug information is sought in DIR, too; repeatable" },
	{ 0, "symbols", "FILE", .set = set_symbols,
	  .help = "FILE has the symbols of the program that is traced" },
	{ 0, "mode", "MODE", .values = "auto jump trap step", .set = set_mode,
	  .help = "how to probe at best: auto (default), jump, trap or step" },
	{ 0, "stay", FLAG(stay),
	  .help = "trace targets all the time, those that record by themselves, too" },
	{ 0, "lossless", FLAG(lossless), .help = "let targets wait rather than lose events" },
	{ 0, "buffer-size", "KIB", .set = set_buffer_size,
	  .help = "events recorded without a stop wait in at most so much memory for\n"
		  "each thread of a target (default 1024; 16384 with --record where\n"
		  "nothing waits)" },
	{ 0, "once", FLAG(budget.once),
	  .help = "one event of each probe, which is taken out then; at the end, tell\n"
		  "how many places were hit" },
	{ 0, "sample", "N|ARG:SIZE", .set = set_sample,
	  .help = "of the hits that the filter lets through each Nth, or one for each\n"
		  "SIZE (512KiB) that ARG adds up to; by probe and thread" },
	{ 0, "max-rate", "N", .set = set_max_rate,
	  .help = "take a place out that has more than N hits a second" },
	{ 0, "max-overhead", "PERCENT", .set = set_max_overhead,
	  .help = "take out what costs most, stops first, where all probes together\n"
		  "cost more than so much of one CPU's time" },
	{ 0, "force", FLAG(force),
	  .help = "probe where it is refused, if that can make sense" },
	{ 0, "beside-kernel", FLAG(beside_kernel),
	  .help = "no jump where a kernel's uprobe that comes later would\n"
		  "break it: a breakpoint, behind the first instruction\n"
		  "if that can be" },
	{ 'F', NULL, FLAG(no_version_check), .help = "does nothing; for scripts that pass it" },
	{ 0, "stats", FLAG(stats), .help = "at the end, print counts on standard error" },
	{ 0, "notes", "WHEN", .values = "auto always never", .set = notes_set,
	  .help = "tell on standard error how many processes are traced, and, when there\n"
		  "was no hit for 5 s, why that may be: auto (default: on a terminal),\n"
		  "always, never, or after how many seconds" },
	{ 0, "ready-fd", "N", .set = set_ready_fd,
	  .help = "write \"ready\" to descriptor N when all is planted" },
	{ 0, "control", "fifo:CTL[,ACK]", .set = set_control,
	  .help = "obey lines that somebody writes into the FIFO CTL, as perf does:\n"
		  "enable [EVENT], disable [EVENT], ping, stop; ACK gets the answers" },
	LIVE_OPTIONS,
	{ 'h', "help", FLAG(only.help), .help = "print this" },
	{ 0, "version", FLAG(only.version), .help = "print the version" },
};

/* --- what makes sense ------------------------------------------------------------ */

static bool only_prints(const struct trace_options *o)
{
	return o->only.format || o->only.check || o->only.explain || o->only.definition;
}

/* -l stands alone, but for -p, what it is about, and what perf-tools scripts pass blindly. */
int trace_options_check_list(const struct trace_options *o)
{
	if (o->n_definitions || o->command || o->who.tid || o->ends.duration || o->ends.count ||
	    o->only.format || o->only.check || o->only.definition || o->form.is_data)
		return cli_usage_error("-l takes a target, and perhaps a pattern, only");
	if (o->who.n_pids > 1)
		return cli_usage_error("-l takes one process");
	return CLI_OK;
}

int trace_options_check(const struct trace_options *o)
{
	if (o->n_definitions == 0 && (!o->live.session || only_prints(o)))
		return cli_usage_error("no definition is given");
	if (o->command && !o->command[0])
		return cli_usage_error("no command after '--'");
	if (who_check(o) != CLI_OK)
		return CLI_USAGE;
	if (o->ends.duration && only_prints(o))
		return cli_usage_error("-d is for tracing: it excludes -v, --check, "
				       "--definition and --explain");
	if (o->steer.is_off && !o->steer.delay_ns && !o->steer.control)
		return cli_usage_error("-D -1 takes --control: nothing else switches the "
				       "probes on");
	if (o->steer.control && only_prints(o))
		return cli_usage_error("--control is for tracing: it excludes -v, --check, "
				       "--definition and --explain");
	if (o->header && !o->form.has_header)
		return cli_usage_error("-H is for text: it excludes --%s", o->form.name);
	if (text_check(&o->to.text, &o->form) != CLI_OK)
		return CLI_USAGE;
	if (o->budget.once && o->budget.sample)
		return cli_usage_error(
			"--once has the first hit of each probe: it excludes --sample");
	if (o->to.tui && tui_check(o) != CLI_OK)
		return CLI_USAGE;
	if (!only_prints(o) && form_check(&o->form, o->to.output, tally_is_wanted(&o->tally),
					  o->to.append) != CLI_OK)
		return CLI_USAGE;
	if (trigger_check(o) != CLI_OK || heap_check(o) != CLI_OK || tally_check(o) != CLI_OK ||
	    hosts_check(o) != CLI_OK || record_check(o) != CLI_OK)
		return CLI_USAGE;
	if (o->n_words < 2 || o->definitions[0].kind != DEFINITION_WORD ||
	    !o->definitions[0].filter)
		return CLI_OK;
	return trace_word_check_filter(o->definitions[0].filter, o->definitions[0].text);
}

/* With -l, a word is a pattern; of two, if -l had none, the first is its target. */
static void take_pattern(struct trace_options *o)
{
	const struct trace_definition *d = o->definitions;

	if (!o->lists.is_list || o->n_definitions != 1 || d->kind != DEFINITION_WORD ||
	    (d->filter && o->lists.list))
		return;
	if (d->filter)
		o->lists.list = d->text;
	o->lists.pattern = d->filter ? d->filter : d->text;
	o->n_definitions = 0;
}

int trace_options_parse(const struct cli_syntax *syntax, int argc, char **argv,
			struct trace_options *o, int (*check)(const struct trace_options *o),
			bool *ret_done)
{
	struct cli_syntax whole = *syntax;
	int status;

	whole.see = live_see;
	whole.common = table;
	whole.n_common = sizeof(table) / sizeof(table[0]);
	o->steer.ready_fd = -1;
	(void)ubp_sink_form("text", &o->form);
	*ret_done = true;
	whole.has_command = true;
	whole.complete = complete_names;
	if (complete(&whole, argc, argv))
		return CLI_OK;
	status = cli_parse(&whole, argc, argv, o, &o->command);
	if (status != CLI_OK)
		return status;
	if (o->only.help) {
		cli_print_help(&whole);
	} else if (o->only.version) {
		printf("%s " UBP_VERSION "\n", cli_program);
	} else {
		take_pattern(o);
		status = live_check(o);
		if (status == CLI_OK && !o->live.ask)
			status = check(o);
		*ret_done = status != CLI_OK;
	}
	return status;
}

void trace_options_free(struct trace_options *o)
{
	free(o->definitions);
	free(o->triggers.v);
	free(o->triggers.synthetic);
	free(o->who.pids);
	free(o->who.cgroup);
	free(o->exclude.v);
	free(o->debug.dirs);
}
