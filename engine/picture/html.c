/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The page: page/ around one JSON object. Columns of numbers are {"u16": BASE64} and the like, of little-endian machines, which
 * page/src/data.js makes arrays of. Times are nanoseconds from the first event.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/picture/out.h"
#include "engine/picture/page.h"
#include "engine/picture/picture.h"
#include "engine/picture/picture_priv.h"
#include "engine/picture/svg.h"

/* --- columns ---------------------------------------------------------------------------------- */

struct column {
	const char *name, *type;
	size_t size;
	/* Element @i, written at @to. */
	void (*get)(const void *of, size_t i, void *to);
};

static void put_column(struct out *out, const struct column *column, const void *of, size_t n)
{
	struct out_base64 state = { .n = 0 };
	uint64_t value;

	out_printf(out, "\"%s\":{\"%s\":\"", column->name, column->type);
	for (size_t i = 0; i < n; i++) {
		column->get(of, i, &value);
		out_base64(out, &state, &value, column->size);
	}
	out_base64(out, &state, NULL, 0);
	out_text(out, "\"}");
}

static void put_columns(struct out *out, const struct column *columns, size_t n_columns,
			const void *of, size_t n)
{
	for (size_t i = 0; i < n_columns; i++) {
		if (i)
			out_text(out, ",");
		put_column(out, &columns[i], of, n);
	}
}

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* A function that gets .@member of element i of an array of @element, as @type. */
#define GETTER(name, element, member, type)                                                    \
	static void name(const void *of, size_t i, void *to)                                   \
	{                                                                                      \
		type value = (type)((const struct element *)of)[i].member;                     \
		memcpy(to, &value, sizeof(value));                                             \
	}

GETTER(cell_t, cube_cell, at.t, uint16_t)
GETTER(cell_key, cube_cell, at.key, uint16_t)
GETTER(cell_thread, cube_cell, at.thread, uint16_t)
GETTER(cell_lat, cube_cell, at.lat, uint16_t)
GETTER(cell_path, cube_cell, at.path, uint16_t)
GETTER(cell_count, cube_cell, count, double)
GETTER(cell_ns, cube_cell, ns, double)
GETTER(cell_self, cube_cell, self, double)
GETTER(node_name, tree_node, name, uint32_t)
GETTER(node_parent, tree_node, parent, uint32_t)
GETTER(call_start, kept_call, start, double)
GETTER(call_dur, kept_call, dur, double)
GETTER(call_key, kept_call, key, uint16_t)
GETTER(call_thread, kept_call, thread, uint16_t)
GETTER(call_path, kept_call, path, uint16_t)
GETTER(call_depth, kept_call, depth, uint8_t)
GETTER(event_time, kept_event, time, double)
GETTER(event_ns, kept_event, ns, double)
GETTER(event_key, kept_event, key, uint16_t)
GETTER(event_thread, kept_event, thread, uint16_t)
GETTER(event_cpu, kept_event, cpu, uint16_t)
GETTER(event_path, kept_event, path, uint16_t)
GETTER(event_stack, kept_event, stack, uint16_t)
GETTER(event_back, kept_event, is_return, uint8_t)
GETTER(event_paired, kept_event, is_paired, uint8_t)

/* Bins of time and nodes have numbers of 16 bits. */
_Static_assert(CUBE_BINS_MAX <= UINT16_MAX && TREE_NODES_MAX <= UINT16_MAX,
	       "columns are too narrow");

static const struct column cell_columns[] = {
	{ "t", "u16", 2, cell_t },           { "key", "u16", 2, cell_key },
	{ "thread", "u16", 2, cell_thread }, { "lat", "u16", 2, cell_lat },
	{ "count", "f64", 8, cell_count },   { "ns", "f64", 8, cell_ns },
};
static const struct column path_columns[] = { { "path", "u16", 2, cell_path },
					      { "self", "f64", 8, cell_self } };
static const struct column node_columns[] = { { "name", "u32", 4, node_name },
					      { "parent", "u32", 4, node_parent } };
static const struct column call_columns[] = {
	{ "start", "f64", 8, call_start }, { "dur", "f64", 8, call_dur },
	{ "key", "u16", 2, call_key },     { "thread", "u16", 2, call_thread },
	{ "path", "u16", 2, call_path },   { "depth", "u8", 1, call_depth },
};
static const struct column event_columns[] = {
	{ "time", "f64", 8, event_time },    { "ns", "f64", 8, event_ns },
	{ "key", "u16", 2, event_key },      { "thread", "u16", 2, event_thread },
	{ "cpu", "u16", 2, event_cpu },      { "path", "u16", 2, event_path },
	{ "stack", "u16", 2, event_stack },  { "back", "u8", 1, event_back },
	{ "paired", "u8", 1, event_paired },
};

/* --- parts of the object ------------------------------------------------------------------------ */

static void put_name(struct out *out, const struct picture *p, uint32_t name)
{
	const char *text = names_text(&p->names, name);

	out_json(out, text, strlen(text));
}

static void put_about(struct out *out, const char *key, const char *text)
{
	out_printf(out, "\"%s\":", key);
	if (text)
		out_json(out, text, strlen(text));
	else
		out_text(out, "null");
	out_text(out, ",");
}

static void put_meta(struct out *out, const struct picture *p)
{
	char when[PICTURE_WHEN_SIZE];

	out_text(out, "{\"meta\":{");
	put_about(out, "host", p->about.host);
	put_about(out, "kernel", p->about.kernel);
	put_about(out, "machine", p->about.machine);
	put_about(out, "when", picture_when(p, when));
	out_printf(out, "\"events\":%" PRIu64 ",\"lost\":%" PRIu64 "},\"span\":%" PRIu64,
		   p->n_events, p->n_lost, picture_span(p));
}

static void put_names(struct out *out, const struct picture *p)
{
	out_text(out, ",\"names\":[");
	for (size_t i = 0; i < p->names.n; i++) {
		out_text(out, i ? "," : "");
		put_name(out, p, (uint32_t)i);
	}
	out_text(out, "],\"keys\":[");
	for (size_t i = 0; i < p->keys.n; i++) {
		out_text(out, i ? ",{\"name\":" : "{\"name\":");
		put_name(out, p, p->keys.v[i].name);
		out_text(out, "}");
	}
	out_text(out, "],\"threads\":[");
	for (size_t i = 0; i < p->threads.n; i++) {
		out_printf(out, "%s{\"pid\":%d,\"tid\":%d,\"comm\":", i ? "," : "",
			   p->threads.v[i].pid, p->threads.v[i].tid);
		put_name(out, p, p->threads.v[i].name);
		out_text(out, "}");
	}
	out_text(out, "]");
}

static void put_cube(struct out *out, const struct cube *cube, bool has_paths)
{
	out_printf(out, "{\"width\":%" PRIu64 ",\"step\":%u,", cube->width, cube->step);
	put_columns(out, cell_columns, N(cell_columns), cube->v, cube->n);
	if (has_paths) {
		out_text(out, ",");
		put_columns(out, path_columns, N(path_columns), cube->v, cube->n);
	}
	out_text(out, "}");
}

static bool put_tree(struct out *out, const char *kind, const struct picture_tree *tree,
		     bool is_first)
{
	if (tree->tree.n < 2)
		return is_first;
	out_printf(out, "%s{\"kind\":\"%s\",\"folded\":%" PRIu64 ",\"nodes\":{",
		   is_first ? "" : ",", kind, tree->tree.n_folded);
	put_columns(out, node_columns, N(node_columns), tree->tree.v, tree->tree.n);
	out_text(out, "},\"cube\":");
	put_cube(out, &tree->cube, true);
	out_text(out, "}");
	return false;
}

static void put_kept(struct out *out, const struct picture *p)
{
	out_text(out, ",\"slices\":{");
	put_columns(out, call_columns, N(call_columns), p->kept_calls.v, p->kept_calls.n);
	out_text(out, "},\"events\":{");
	put_columns(out, event_columns, N(event_columns), p->events.v, p->events.n);
	out_text(out, ",\"text\":[");
	for (size_t i = 0; i < p->events.n; i++) {
		const char *text = p->events.v[i].text;

		out_text(out, i ? "," : "");
		out_json(out, text ? text : "", text ? strlen(text) : 0);
	}
	out_text(out, "]}");
}

/* --- what is not all there ------------------------------------------------------------------------ */

struct warnings {
	struct out *out;
	unsigned n;
};

/* Our own words: nothing in them wants escaping. */
static void warn(struct warnings *w, const char *before, uint64_t n, const char *behind)
{
	out_printf(w->out, "%s\"%s%" PRIu64 "%s\"", w->n++ ? "," : "", before, n, behind);
}

static void put_told(struct out *out, const struct picture *p)
{
	struct warnings w = { .out = out };
	uint64_t n_dropped =
		p->cube.n_dropped + p->calls.cube.n_dropped + p->stacks.cube.n_dropped;

	out_printf(out,
		   ",\"told\":{\"events\":\"one of each %" PRIu64
		   " runs of %u events\",\"slices\":%" PRIu64 ",\"warnings\":[",
		   UINT64_C(1) << p->events.every_log2, KEPT_RUN, p->kept_calls.n_all);
	if (p->n_lost)
		warn(&w, "", p->n_lost,
		     " events were lost while it was recorded: they are in no view.");
	if (p->is_weighted)
		warn(&w, "Hits were sampled: counts are estimates, from ", p->n_events,
		     " events.");
	if (p->keys.n >= PICTURE_KEYS_MAX)
		warn(&w, "The page tells ", PICTURE_KEYS_MAX,
		     " functions apart: the others are (other).");
	if (p->threads.n >= PICTURE_THREADS_MAX)
		warn(&w, "The page tells ", PICTURE_THREADS_MAX,
		     " threads apart: the others are (other).");
	if (n_dropped)
		warn(&w, "", n_dropped,
		     " hits are not counted: there was no room for more that differ.");
	out_text(out, "]}}\n");
}

int picture_html(struct picture *p)
{
	struct out out;
	bool is_first;

	if (!picture_page_tail_len())
		return -ENOSYS;
	p->ops.put(p->ops.ctx, picture_page_head, picture_page_head_len());
	out_begin(&out, &p->ops);
	put_meta(&out, p);
	put_names(&out, p);
	out_text(&out, ",\"cube\":");
	put_cube(&out, &p->cube, false);
	out_text(&out, ",\"trees\":[");
	is_first = put_tree(&out, "calls", &p->calls, true);
	(void)put_tree(&out, "stacks", &p->stacks, is_first);
	out_text(&out, "]");
	put_kept(&out, p);
	put_told(&out, p);
	out_end(&out);
	p->ops.put(p->ops.ctx, picture_page_tail, picture_page_tail_len());
	return 0;
}
