/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * apart_counts apart|here CASE PID PROGRAM ARG1 ARG2: what triggers, counts and recordings tell of process PID, which runs the fixture PROGRAM and ends, with
 * the engine in a process of its own and with threads of this one, for apart.sh to compare. It says "ready" when it traces. ARG1 and ARG2 are
 * where functions find their first arguments.
 *
 *	triggers  histograms, synthetic events, a trigger on a probe that comes while the session runs; what is wrong with some
 *	settled   a histogram that is counted where the hits are
 *	marks     snapshots, told between the events that are in them and those that are not
 *	later     a snapshot, and what comes behind it
 *	traces    triggers, snapshots and synthetic events of several traces
 *	names     events whose stacks have names
 *	tally     counts in place of events
 *	heap      blocks, by stacks
 *	record    a recording, "rec", in two files
 *	folder    this process changes its folder before it says where to record
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_heap.h"
#include "engine/ubp_live.h"
#include "engine/ubp_record.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

static struct ubp_session *s;
static struct ubp_err err;
static long n_events, n_named, n_stacks;
static bool with_names;

static void told(const char *what, int rc)
{
	printf("%s: %d%s%s\n", what, rc, rc < 0 ? " " : "", rc < 0 ? err.text : "");
	if (rc < 0 && err.has_caret)
		printf("%s at %u\n", err.command, err.caret);
}

static void must(const char *what, int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, err.text);
	exit(1);
}

static void tell(const char *what, const char *text, size_t len)
{
	printf("%s: %s\n%.*s", what, text ? "" : "NULL", (int)len, text ? text : "");
}

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "warning: %s\n", text);
}

static void begin(const char *where, pid_t pid, bool with_stacks)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.warn = warn;
	opt.lossless = true;
	opt.stack = with_stacks ? UBP_STACK_FP : UBP_STACK_NONE;
	opt.engine.apart = strcmp(where, "apart") == 0 ? UBP_APART_YES : UBP_APART_NO;
	must("new", ubp_session_new(&opt, &s, &err));
}

/* --- events ------------------------------------------------------------------------ */

static struct ubp_event *of_trace; /* the first that happened in a trace with a name */

static const char *in_trace(const struct ubp_event *event)
{
	static char text[32];
	const char *name = ubp_trigger_event_trace(event);

	if (!of_trace && name[0])
		of_trace = ubp_event_copy(event);
	snprintf(text, sizeof(text), name[0] ? " in %s" : "%s", name);
	return text;
}

static int take(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	n_events++;
	n_stacks += ubp_trigger_event_is_stack(event);
	if (with_names) {
		size_t len;
		const char *line = ubp_event_line(event, &len);

		n_named += line && memmem(line, len, "greet+0x0", 9);
	}
	if (ubp_event_probe(event) != UBP_EVENT_SYNTHETIC)
		return 0;
	printf("made %s%s", ubp_event_name(event), in_trace(event));
	for (size_t i = 0; i < ubp_event_n_args(event); i++)
		printf(" %s=%s", ubp_event_arg_name(event, i), ubp_event_arg_text(event, i));
	printf("\n");
	return 0;
}

/* Until the target has ended. */
static void run(void)
{
	struct pollfd p = { ubp_fd(s), POLLIN, 0 };

	while (!ubp_is_done(s)) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			exit(1);
		must("dispatch", ubp_dispatch(s, take, NULL, &err));
	}
	ubp_stop(s);
	must("drain", (int)ubp_drain(s, take, NULL, &err));
	printf("events %ld\n", n_events);
	if (n_stacks)
		printf("stacks of triggers %ld\n", n_stacks);
}

static void start(void)
{
	must("start", ubp_start(s, &err));
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

/* --- triggers ----------------------------------------------------------------------- */

static void row(void *ctx, const struct ubp_trigger_hist *hist, const struct ubp_tally_row *r)
{
	(void)ctx;
	if (!r) {
		printf("hist %u of %u %s dropped %lu\n", hist->number, hist->n,
		       hist->name ? hist->name : "-", (unsigned long)hist->dropped);
		return;
	}
	printf("row %u hits %lu", hist->number, (unsigned long)r->hits);
	for (unsigned i = 0; i < r->n_keys; i++)
		printf(" %s:%d %lu %lu %d %s", r->keys[i].name, r->keys[i].kind,
		       (unsigned long)r->keys[i].number, (unsigned long)r->keys[i].width,
		       r->keys[i].is_signed, r->keys[i].text ? r->keys[i].text : "-");
	for (unsigned i = 0; i < r->n_values; i++)
		printf(" %s=%lu", r->values[i].name, (unsigned long)r->values[i].number);
	printf("\n");
}

static void wrong(void *ctx, const char *where, const struct ubp_err *what)
{
	(void)ctx;
	printf("wrong: %s: %s [%s] at %u\n", where, what->text, what->command, what->caret);
}

static void write_trigger(const char *event, const char *text)
{
	told(text, ubp_trigger_write(s, event, text, &err));
}

static void before(void)
{
	told("synthetic", ubp_synthetic_add(s, "pair u32 times; s32 len", &err));
	told("bad synthetic", ubp_synthetic_add(s, "pair nothing of that", &err));
	ubp_trigger_errors(s, wrong, NULL);
	write_trigger("enter", "hist:keys=common_pid:t=times");
	write_trigger("back", "hist:keys=common_pid:x=$t:l=len:"
			      "onmatch(uprobes.enter).trace(pair,$x,$l)");
	write_trigger("greet", "hist:keys=times.buckets=40:vals=times:sort=times:name=shared");
	write_trigger("greet", "hist:keys=nothing");
	ubp_trigger_errors(s, wrong, NULL);
	write_trigger("nobody", "hist:keys=times");
	told("record", ubp_trigger_record(s, "enter", false, &err));
	told("made", ubp_trigger_record(s, "synthetic:pair", true, &err));
	told("filter", ubp_trigger_filter(s, "greet", "times > 290", &err));
	told("bad filter", ubp_trigger_filter(s, "greet", "times >", &err));
}

static void meanwhile(const char *program, const char *arg2)
{
	char text[512];
	const char *texts[] = { text };
	size_t n;

	snprintf(text, sizeof(text), "p:late %s:greet times=%s:u32", program, arg2);
	told("add", ubp_probes_add(s, texts, 1, NULL, NULL, &n, &err));
	write_trigger("late", "hist:keys=times.log2");
	write_trigger("late", "hist:keys=time");
	printf("state %s %s\n", ubp_trigger_state(s, "late"), ubp_trigger_state(s, "enter"));
	printf("no state %d\n", ubp_trigger_state(s, "nobody") == NULL);
}

static void after(void)
{
	static const char *const events[] = { "greet", "late", "synthetic:pair", "nobody" };
	const char *text;
	size_t len = 0;

	for (size_t i = 0; i < 4; i++) {
		text = ubp_trigger_list(s, events[i], &len);
		tell(events[i], text, text ? len : 0);
		text = ubp_trigger_hist(s, events[i], &len);
		tell("hist", text, text ? len : 0);
		text = ubp_trigger_hist_json(s, events[i], &len);
		tell("json", text, text ? len : 0);
		printf("rows %d\n", ubp_trigger_hist_rows(s, events[i], row, NULL));
	}
	text = ubp_synthetic_list(s, &len);
	tell("synthetic", text, len);
	text = ubp_synthetic_format(s, "pair", &len);
	tell("format", text, len);
	printf("explain %s\n", ubp_trigger_explain(s, 0));
	told("clear", ubp_trigger_clear(s, "greet", &err));
	text = ubp_trigger_list(s, "greet", &len);
	tell("greet", text, len);
	printf("tracing %d\n", ubp_trigger_is_tracing(s));
	printf("set %d\n", ubp_trigger_set_tracing(s, false));
	printf("tracing %d\n", ubp_trigger_is_tracing(s));
	told("synthetic clear", ubp_synthetic_clear(s, &err));
}

/* A histogram that is made where the hits are. */
static void settled(const char *program, const char *arg2)
{
	char text[512];
	const char *hist;
	size_t len = 0;

	snprintf(text, sizeof(text), "p:greet %s:greet times=%s:u32", program, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	write_trigger("greet", "hist:keys=times.buckets=40:sort=times");
	told("settle", ubp_trigger_settle(s, &err));
	write_trigger("greet", "traceoff");
	start();
	ready();
	run();
	hist = ubp_trigger_hist(s, "greet", &len);
	tell("hist", hist, hist ? len : 0);
}

/* --- snapshots ----------------------------------------------------------------------- */

static void on_snapshot(void *ctx)
{
	(void)ctx;
	printf("snapshot of %ld\n", n_events);
}

static void define_snapshots(const char *program, const char *arg2)
{
	char text[512];

	snprintf(text, sizeof(text), "p:greet %s:greet times=%s:u32", program, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	write_trigger("greet", "snapshot if times == 100 || times == 250");
}

static void marks(const char *program, const char *arg2)
{
	define_snapshots(program, arg2);
	printf("on snapshot: %d\n", ubp_trigger_on_snapshot(s, on_snapshot, NULL));
	start();
	ready();
	run();
}

/* The first hands out what comes in an hour, and so all. */
static void later(const char *program, const char *arg2)
{
	define_snapshots(program, arg2);
	printf("after: %d\n", ubp_trigger_snapshot_after(s, UINT64_C(3600000000000)));
	start();
	ready();
	run();
}

/* --- several traces -------------------------------------------------------------------- */

static const char *const traces_of[] = { "", "one", "two" };

static void on_snapshot_of(void *ctx)
{
	printf("snapshot of '%s'\n", (const char *)ctx);
}

static void choose(const char *trace)
{
	must(trace, ubp_trigger_trace(s, trace, &err));
}

/* Probe 0 stays where all are; each other one goes to a trace. */
static void define_traces(const char *program, const char *arg2)
{
	char text[512];
	const char *texts[] = { text };
	size_t number = 0;

	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "p:hit%d %s:greet times=%s:u32", i, program, arg2);
		if (i)
			must("hit", ubp_probes_add(s, texts, 1, NULL, &number, NULL, &err));
		else
			must("hit", ubp_add(s, text, NULL, &err));
		if (!i)
			start();
	}
	told("synthetic", ubp_synthetic_add(s, "seen u32 times", &err));
	for (size_t i = 0; i < 3; i++) {
		choose(traces_of[i]);
		if (i)
			told("probe", ubp_trigger_probe(s, i, traces_of[i], &err));
		printf("on snapshot: %d\n",
		       ubp_trigger_on_snapshot(s, on_snapshot_of, (void *)traces_of[i]));
		told("made", ubp_trigger_record(s, "synthetic:seen", i != 1, &err));
	}
	told("no probe", ubp_trigger_probe(s, 77, "one", &err));
}

static void write_traces(void)
{
	write_trigger("two:hit2", "hist:keys=times.buckets=100:sort=times");
	write_trigger("two:hit2", "snapshot if times == 20 || times == 200");
	write_trigger("one:hit1", "hist:keys=common_pid:ts=times");
	choose("one");
	write_trigger("two:hit2", "hist:keys=times");
	told("own", ubp_trigger_record(s, "one:hit1", true, &err));
	write_trigger("one:hit1", "hist:keys=times.buckets=150:t=times:sort=times:onmatch(one."
				  "hit1).trace(seen,$t)");
	write_trigger("one:hit1", "traceoff if times == 250");
	write_trigger("one:hit1", "snapshot if times == 20");
	choose("");
	write_trigger("hit0", "snapshot if times == 100");
}

static void tell_traces(void)
{
	static const char *const events[] = { "hit0", "one:hit1", "two:hit2" };

	for (size_t i = 0; i < 3; i++) {
		choose(traces_of[i]);
		printf("trace '%s' on %d\n", traces_of[i], ubp_trigger_is_tracing(s));
		for (size_t k = 0; k < 3; k++) {
			size_t len = 0;
			const char *text = ubp_trigger_list(s, events[k], &len);

			tell(events[k], text, text ? len : 0);
			text = ubp_trigger_hist(s, events[k], &len);
			tell("hist", text, text ? len : 0);
		}
	}
}

static void traces(const char *program, const char *arg2)
{
	define_traces(program, arg2);
	write_traces();
	ready();
	run();
	tell_traces();
	ubp_trigger_trace_end(s, "one");
	ubp_trigger_trace_end(s, "two");
	ubp_trigger_trace_end(s, "none");
	/* A copy has its name for good. */
	printf("copy of one in '%s'\n", of_trace ? ubp_trigger_event_trace(of_trace) : "none");
	ubp_event_free(of_trace);
	printf("list: %s\n", ubp_trigger_list(s, "hit0", NULL));
	/* It begins anew. */
	choose("one");
	printf("on %d state %d\n", ubp_trigger_is_tracing(s),
	       ubp_trigger_state(s, "one:hit1") == NULL);
	ubp_trigger_trace_end(s, "one");
}

/* --- all triggers -------------------------------------------------------------------- */

static void triggers(const char *program, const char *arg1, const char *arg2)
{
	char text[512];

	snprintf(text, sizeof(text), "p:greet %s:greet name=+0(%s):string times=%s:u32",
		 program, arg1, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	snprintf(text, sizeof(text), "p:enter %s:greet times=%s:u32", program, arg2);
	must("enter", ubp_add(s, text, NULL, &err));
	snprintf(text, sizeof(text), "r:back %s:greet len=$retval:s32", program);
	must("back", ubp_add(s, text, NULL, &err));
	before();
	start();
	meanwhile(program, arg2);
	ready();
	run();
	after();
}

/* Standard input, which has ended, is nothing that is waited for meanwhile. */
static void names(const char *program, const char *arg2)
{
	char text[512];

	with_names = true;
	snprintf(text, sizeof(text), "p:hit %s:greet", program);
	must("hit", ubp_add(s, text, NULL, &err));
	/* Of this one the stack of one hit is told, and nothing else. */
	snprintf(text, sizeof(text), "p:quiet %s:greet times=%s:u32", program, arg2);
	must("quiet", ubp_add(s, text, NULL, &err));
	told("quiet", ubp_trigger_record(s, "quiet", false, &err));
	write_trigger("quiet", "stacktrace if times == 7");
	start();
	ready();
	run();
	printf("named %ld\n", n_named);
}

/* --- counts -------------------------------------------------------------------------- */

static void tally(const char *program, const char *arg1, const char *arg2)
{
	char text[512];
	const struct ubp_tally *counted;
	struct ubp_tally_row r;
	const char *json;
	size_t len;

	told("too early", ubp_tally(s, "hist:keys=times", &err));
	snprintf(text, sizeof(text), "p:greet %s:greet name=+0(%s):string times=%s:u32",
		 program, arg1, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	printf("none %d\n", ubp_tally_take(s) == NULL);
	told("bad", ubp_tally(s, "hist:keys=nothing", &err));
	told("tally",
	     ubp_tally(s, "hist:keys=event,name,times.buckets=100:vals=times,times.max", &err));
	told("events", ubp_tally_events(s, &err));
	printf("explain %d\n", ubp_tally_explain(s, 0) != NULL);
	start();
	ready();
	run();
	counted = ubp_tally_take(s);
	if (!counted) {
		printf("nothing was counted\n");
		return;
	}
	printf("n %zu hits %lu dropped %lu\n", ubp_tally_n(counted),
	       (unsigned long)ubp_tally_hits(counted),
	       (unsigned long)ubp_tally_dropped(counted));
	for (size_t i = 0; i < ubp_tally_n(counted); i++) {
		ubp_tally_row(counted, i, &r);
		json = ubp_tally_json(s, &r, &len);
		printf("kinds %d %d %d %.*s", r.keys[0].kind, r.keys[1].kind, r.keys[2].kind,
		       (int)len, json);
	}
}

/* Each call allocates a block of as many bytes as its second argument says, at its first. */
static void heap(const char *program, const char *arg1, const char *arg2)
{
	char text[512];
	struct ubp_heap_row r;
	const char *json;
	size_t len;

	snprintf(text, sizeof(text), "p:%s:greet p=%s:u64 size=%s:u32", program, arg1, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	told("no such", ubp_heap_allocates(s, 7, "p:size", &err));
	told("bad", ubp_heap_allocates(s, 0, "q", &err));
	told("allocates", ubp_heap_allocates(s, 0, "p:size", &err));
	told("bad", ubp_heap_frees(s, 0, "q", &err));
	start();
	ready();
	run();
	printf("short %d\n", ubp_heap_is_short(s));
	for (size_t i = 0; i < ubp_heap_n(s); i++) {
		ubp_heap_row(s, i, &r);
		json = ubp_heap_json(s, &r, &len);
		printf("%.*s", (int)len, json);
	}
}

/* --- recordings ---------------------------------------------------------------------- */

static void record(const char *program, const char *arg2, bool elsewhere)
{
	struct ubp_record_options options = { .path = "/nowhere/rec" };
	char text[512];
	uint64_t n, bytes;

	snprintf(text, sizeof(text), "p:greet %s:greet times=%s:u32", program, arg2);
	must("greet", ubp_add(s, text, NULL, &err));
	told("nowhere", ubp_record(s, &options, &err));
	options = (struct ubp_record_options){ .path = "rec", .level = 1 };
	if (elsewhere && (mkdir("elsewhere", 0700) < 0 || chdir("elsewhere") < 0))
		exit(1);
	told("record", ubp_record(s, &options, &err));
	start();
	ready();
	run();
	n = ubp_record_count(s, &bytes);
	printf("records %lu %s full %d\n", (unsigned long)n, bytes ? "bytes" : "no bytes",
	       ubp_record_is_full(s));
	told("end", ubp_record_end(s, &err));
	told("end", ubp_record_end(s, &err));
}

int main(int argc, char **argv)
{
	const char *what = argc == 7 ? argv[2] : "";

	if (argc != 7)
		return 2;
	alarm(60);
	begin(argv[1], atoi(argv[3]), strcmp(what, "heap") == 0 || strcmp(what, "names") == 0);
	if (strcmp(what, "triggers") == 0)
		triggers(argv[4], argv[5], argv[6]);
	else if (strcmp(what, "settled") == 0)
		settled(argv[4], argv[6]);
	else if (strcmp(what, "marks") == 0)
		marks(argv[4], argv[6]);
	else if (strcmp(what, "later") == 0)
		later(argv[4], argv[6]);
	else if (strcmp(what, "traces") == 0)
		traces(argv[4], argv[6]);
	else if (strcmp(what, "names") == 0)
		names(argv[4], argv[6]);
	else if (strcmp(what, "tally") == 0)
		tally(argv[4], argv[5], argv[6]);
	else if (strcmp(what, "heap") == 0)
		heap(argv[4], argv[5], argv[6]);
	else
		record(argv[4], argv[6], strcmp(what, "folder") == 0);
	ubp_session_free(s);
	return 0;
}
