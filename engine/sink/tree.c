/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "tree": calls of each thread, each below the one that made it, as they begin and end. Entries and returns are paired by
 * engine/calls, which bounds what is kept; what it cannot pair is shown as what it is. The last entry waits for what follows, since
 * a call without others inside is one line:
 *
 *             task-4242    | outer(n=2) {
 *             task-4242    |   inner(n=1) = 3;   1.2 us
 *             task-4242    | } = 5;   12.3 us   (outer)
 */

#include <inttypes.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/sink/colour.h"
#include "engine/sink/of_calls.h"
#include "engine/sink/text.h"

/* Columns of a level, and levels that are shown by such. */
#define LEVEL      2
#define LEVELS_MAX 48

#define HEAD_MAX 192

struct tree {
	struct sink sink;
	struct calls *calls;
	struct sink_buf *to; /* during a call */
	bool is_ending;
	/* Calls that are open in a thread, if there are any. */
	struct map depths;
	/* The entry that waits. */
	struct sink_buf waiting; /* "outer(n=2)", coloured; empty: none waits */
	int32_t pid, tid;        /* its thread, name, time */
	char comm[16];
	uint64_t time;
	unsigned depth;
	const char *host;
};

static struct tree *tree_of(struct sink *sink)
{
	return (struct tree *)sink;
}

static struct sink_text_options options_of(const struct tree *t)
{
	return (struct sink_text_options){ .escape = t->sink.opt.escape,
					   .colour = t->sink.opt.colour };
}

static void add_colour(const struct tree *t, struct sink_buf *to, const char *colour)
{
	if (t->sink.opt.colour)
		sink_buf_add_text(to, colour);
}

/* --- threads ------------------------------------------------------------------ */

static uint64_t key_of(const struct tree *t, int32_t pid, int32_t tid)
{
	uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

	return t->sink.host ? hash_text(key, t->sink.host) : key;
}

static unsigned depth_of(const struct tree *t, int32_t pid, int32_t tid)
{
	return (unsigned)(uintptr_t)map_get(&t->depths, key_of(t, pid, tid));
}

static void set_depth(struct tree *t, int32_t pid, int32_t tid, unsigned depth)
{
	uint64_t key = key_of(t, pid, tid);

	if (!depth)
		map_remove(&t->depths, key);
	else if (map_put(&t->depths, key, (void *)(uintptr_t)depth) < 0)
		t->sink.is_short = true;
}

/* --- pieces of a line ------------------------------------------------------------- */

static void add_bytes(const struct tree *t, struct sink_buf *to, const char *text, size_t len)
{
	char *at = sink_buf_room(to, ESCAPE_BYTE_MAX * len);

	if (!at || !len)
		return;
	sink_buf_end(to, t->sink.opt.escape ? escape_put(at, (const uint8_t *)text, len)
					    : sink_put_text(at, text, len));
}

static void add_blanks(struct sink_buf *to, size_t n)
{
	char *at = sink_buf_room(to, n);

	if (!at)
		return;
	memset(at, ' ', n);
	sink_buf_end(to, at + n);
}

/* "            task-4242    | " */
static void add_head(const struct tree *t, struct sink_buf *to, const char *host,
		     const char comm[16], int32_t tid, unsigned depth)
{
	size_t comm_len = strnlen(comm, 16);
	char digits[SINK_NUMBER_MAX];
	size_t n = (size_t)(sink_put_int(digits, tid) - digits);

	if (host) {
		add_bytes(t, to, host, strlen(host));
		sink_buf_add(to, ": ", 2);
	}
	add_blanks(to, 16 - comm_len);
	add_colour(t, to, SINK_COLOUR_TASK);
	add_bytes(t, to, comm, comm_len);
	sink_buf_add(to, "-", 1);
	sink_buf_add(to, digits, n);
	add_colour(t, to, SINK_COLOUR_END);
	add_blanks(to, n < 7 ? 7 - n : 0);
	sink_buf_add(to, " | ", 3);
	add_blanks(to, (size_t)LEVEL * (depth < LEVELS_MAX ? depth : LEVELS_MAX));
}

static void add_name(const struct tree *t, struct sink_buf *to, const char *name)
{
	add_colour(t, to, SINK_COLOUR_ENTRY);
	sink_buf_add_text(to, name);
	add_colour(t, to, SINK_COLOUR_END);
}

/* "n=2, s=\"x\"" */
static void add_args(const struct tree *t, struct sink_buf *to, const struct spec_probe *probe,
		     const struct event_record *record)
{
	struct sink_text_options opt = options_of(t);

	for (size_t i = 0; probe && record && i < probe->n_args; i++) {
		if (i > 0)
			sink_buf_add(to, ", ", 2);
		sink_buf_add_text(to, probe->args[i].name);
		sink_buf_add(to, "=", 1);
		sink_text_value(to, &probe->args[i], record, &opt);
	}
}

/* " = 3"; of several " = {a=3, b=4}". */
static void add_result(const struct tree *t, struct sink_buf *to, const struct call *call)
{
	const struct spec_probe *probe = call->ret ? call->return_probe : NULL;
	struct sink_text_options opt = options_of(t);

	if (!probe || !probe->n_args)
		return;
	sink_buf_add(to, " = ", 3);
	if (probe->n_args == 1) {
		sink_text_value(to, &probe->args[0], call->ret, &opt);
		return;
	}
	sink_buf_add(to, "{", 1);
	add_args(t, to, probe, call->ret);
	sink_buf_add(to, "}", 1);
}

/* "   12.3 us" */
static void add_time(struct sink_buf *to, uint64_t ns)
{
	static const char *const units[] = { "us", "ms", "s" };
	uint64_t unit = 1000;
	unsigned i = 0;

	if (ns < 1000) {
		sink_buf_printf(to, "   %" PRIu64 " ns", ns);
		return;
	}
	for (; i < 2 && ns >= 1000 * unit; i++)
		unit *= 1000;
	sink_buf_printf(to, "   %" PRIu64 ".%" PRIu64 " %s", ns / unit, ns % unit / (unit / 10),
			units[i]);
}

static void add_note(const struct tree *t, struct sink_buf *to, const char *note)
{
	sink_buf_add_text(to, "   ");
	add_colour(t, to, SINK_COLOUR_BAD);
	sink_buf_printf(to, "(%s)", note);
	add_colour(t, to, SINK_COLOUR_END);
}

/* --- lines ---------------------------------------------------------------------- */

/* What waits is a call with others inside, or one that takes its time. */
static void open_waiting(struct tree *t)
{
	struct sink_buf *to = t->to;

	if (!t->waiting.len)
		return;
	add_head(t, to, t->host, t->comm, t->tid, t->depth);
	sink_buf_add(to, t->waiting.data, t->waiting.len);
	sink_buf_add_text(to, " {\n");
	t->waiting.len = 0;
}

/* What became of it, behind its name or its brace. */
static void add_end(const struct tree *t, struct sink_buf *to, const struct call *call)
{
	add_result(t, to, call);
	sink_buf_add(to, ";", 1);
	if (call->end == CALL_RETURNED && call->has_start)
		add_time(to, call->end_ns - call->start_ns);
	if (call->end == CALL_LEFT)
		add_note(t, to, "left without a return");
	else if (call->end == CALL_OPEN)
		add_note(t, to, t->is_ending ? "no return until the end" : "too many are open");
	else if (!call->entry)
		add_note(t, to, "its entry was not seen");
	else if (call->is_uncertain)
		add_note(t, to, "events were lost meanwhile");
}

static bool is_waiting(const struct tree *t, const struct call *call)
{
	return t->waiting.len && call->entry && t->tid == call->tid && t->pid == call->pid &&
	       t->time == call->entry->time && t->host == t->sink.host &&
	       t->depth == call->depth;
}

static void on_call(void *ctx, const struct call *call)
{
	struct tree *t = ctx;
	const struct event_record *record = call->ret ? call->ret : call->entry;
	struct sink_buf *to = t->to;
	bool is_line = is_waiting(t, call);
	unsigned open = depth_of(t, call->pid, call->tid);

	if (call->entry && open)
		set_depth(t, call->pid, call->tid, open - 1);
	if (!is_line)
		open_waiting(t);
	add_head(t, to, t->sink.host, record->comm, call->tid, call->depth);
	if (is_line) {
		sink_buf_add(to, t->waiting.data, t->waiting.len);
		t->waiting.len = 0;
	} else if (call->entry) {
		sink_buf_add(to, "}", 1);
	} else {
		add_name(t, to, call->function->name);
		sink_buf_add(to, "()", 2);
	}
	add_end(t, to, call);
	if (!is_line && call->entry)
		sink_buf_printf(to, "   (%s)", call->function->name);
	sink_buf_add(to, "\n", 1);
}

static void keep_waiting(struct tree *t, const struct spec_probe *probe,
			 const struct event_record *record)
{
	unsigned depth = depth_of(t, record->pid, record->tid);

	t->pid = record->pid;
	t->tid = record->tid;
	t->time = record->time;
	memcpy(t->comm, record->comm, sizeof(t->comm));
	t->host = t->sink.host;
	t->depth = depth;
	set_depth(t, record->pid, record->tid, depth + 1);
	add_name(t, &t->waiting, probe->event);
	sink_buf_add(&t->waiting, "(", 1);
	add_args(t, &t->waiting, probe, record);
	sink_buf_add(&t->waiting, ")", 1);
	if (t->waiting.failed) {
		t->waiting.failed = 0;
		t->waiting.len = 0;
		t->sink.is_short = true;
	}
}

/* An event alone: no entry of which the return is probed, too. */
static void add_alone(struct tree *t, const struct spec_probe *probe,
		      const struct event_record *record)
{
	struct sink_buf *to = t->to;

	add_head(t, to, t->sink.host, record->comm, record->tid,
		 depth_of(t, record->pid, record->tid));
	sink_buf_add(to, "[", 1);
	add_name(t, to, probe->event);
	sink_buf_add(to, "(", 1);
	add_args(t, to, probe, record);
	sink_buf_add_text(to, ")]\n");
}

/* --- as a way to print -------------------------------------------------------- */

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct tree *t = tree_of(sink);
	enum calls_record what;

	t->to = to;
	what = sink_calls_add(sink, &t->calls, on_call, probe, record);
	if (what == CALLS_RETURN)
		return;
	open_waiting(t);
	if (what == CALLS_ENTRY)
		keep_waiting(t, probe, record);
	else
		add_alone(t, probe, record);
}

static void flush(struct sink *sink, struct sink_buf *to)
{
	struct tree *t = tree_of(sink);

	t->to = to;
	open_waiting(t);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct tree *t = tree_of(sink);

	flush(sink, to);
	sink_calls_lost(t->calls, n);
	add_colour(t, to, SINK_COLOUR_BAD);
	sink_buf_printf(to, "[LOST %" PRIu64 " EVENTS]", n);
	add_colour(t, to, SINK_COLOUR_END);
	sink_buf_add(to, "\n", 1);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct tree *t = tree_of(sink);

	t->to = to;
	t->is_ending = true;
	if (t->calls)
		calls_end(t->calls);
}

static void free_tree(struct sink *sink)
{
	struct tree *t = tree_of(sink);

	calls_free(t->calls);
	map_free(&t->depths);
	sink_buf_free(&t->waiting);
}

const struct sink_kind sink_tree = {
	.name = "tree",
	.size = sizeof(struct tree),
	.event = event,
	.lost = lost,
	.flush = flush,
	.end = end,
	.free = free_tree,
};
