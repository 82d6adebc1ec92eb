/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Statistics of calls, for people. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sink/stats.h"

/* The tree leaves out what is less than this share of all, and what is deeper. */
#define LEAST_SHARE 100
#define DEEPEST     40

#define NAME_LEAST 24

static void add_time(struct sink_buf *to, uint64_t ns)
{
	char text[STATS_TIME_MAX];

	stats_time(text, ns);
	sink_buf_printf(to, " %9s", text);
}

static void add_functions(struct stats *s, struct sink_buf *to)
{
	size_t n, width = NAME_LEAST;
	const struct stats_function **all = stats_by_total(s, &n);

	if (!all)
		s->sink.is_short = true;
	if (!all || !n)
		goto out;
	for (size_t i = 0; i < n; i++)
		if (strlen(all[i]->function->name) > width)
			width = strlen(all[i]->function->name);
	sink_buf_printf(to, "%-*s %10s %9s %9s %9s %9s %9s %9s\n", (int)width, "FUNCTION",
			"CALLS", "TOTAL", "SELF", "MIN", "MEDIAN", "P99", "MAX");
	for (size_t i = 0; i < n; i++) {
		const struct stats_function *f = all[i];

		sink_buf_printf(to, "%-*s %10" PRIu64, (int)width, f->function->name, f->n);
		if (f->n) {
			add_time(to, f->total);
			add_time(to, f->self);
			add_time(to, f->min);
			add_time(to, stats_quantile(f, 0.5));
			add_time(to, stats_quantile(f, 0.99));
			add_time(to, f->max);
		}
		sink_buf_add(to, "\n", 1);
	}
out:
	free(all);
}

/* --- the tree ------------------------------------------------------------------------------ */

struct branch {
	uint64_t total, self, n; /* .total: at least that of all that is below */
	uint32_t parent, path;
};

/* Branches by their parents, those with the most time first. */
struct tree {
	const struct stats *s;
	struct branch *v;
	uint32_t *
		first; /* of each path: where those below it begin in .v; they end where the next path's begin */
	uint32_t n;
	uint64_t all;
	struct sink_buf *to;
};

static int by_parent(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->path < y->path ? -1 : x->path > y->path;
}

/* What has not returned took as long as what was called there, at least. */
static void fill_branches(struct tree *t)
{
	uint64_t *below = calloc(t->n + 1, sizeof(*below));

	for (uint32_t path = t->n; below && path > 0; path--) {
		struct branch *b = &t->v[path - 1];

		if (path < t->s->n_paths) {
			const struct stats_path *its = &t->s->paths[path];

			*b = (struct branch){ its->total, its->self, its->n, 0, 0 };
		}
		b->path = path;
		b->parent = calls_path_parent(t->s->calls, path);
		if (b->total < below[path])
			b->total = below[path];
		below[b->parent] += b->total;
	}
	t->all = below ? below[0] : 0;
	free(below);
}

/* False: memory is short. */
static bool plant_tree(struct tree *t)
{
	uint32_t next = 0;

	t->n = calls_n_paths(t->s->calls);
	t->v = calloc(t->n + 1, sizeof(*t->v));
	t->first = calloc(t->n + 2, sizeof(*t->first));
	if (!t->v || !t->first)
		return false;
	fill_branches(t);
	qsort(t->v, t->n, sizeof(*t->v), by_parent);
	for (uint32_t path = 0; path <= t->n; path++) {
		t->first[path] = next;
		while (next < t->n && t->v[next].parent == path)
			next++;
	}
	t->first[t->n + 1] = next;
	return true;
}

static void add_branch(const struct tree *t, const struct branch *b, unsigned depth, int width)
{
	const struct calls_function *f = calls_path_function(t->s->calls, b->path);
	int indent = 2 * (int)depth, left = width - indent;

	sink_buf_printf(t->to, "%*s%-*s %10" PRIu64, indent, "", left > 0 ? left : 0, f->name,
			b->n);
	add_time(t->to, b->total);
	add_time(t->to, b->self);
	sink_buf_add(t->to, "\n", 1);
}

/* What is below @path, and what was left out there. */
static void add_below(const struct tree *t, uint32_t path, unsigned depth, int width)
{
	uint32_t n_left = 0;
	uint64_t left = 0;

	for (uint32_t i = t->first[path]; i < t->first[path + 1]; i++) {
		const struct branch *b = &t->v[i];

		if (depth == DEEPEST || b->total < t->all / LEAST_SHARE) {
			n_left++;
			left += b->total;
			continue;
		}
		add_branch(t, b, depth, width);
		add_below(t, b->path, depth + 1, width);
	}
	if (n_left) {
		char time[STATS_TIME_MAX];

		stats_time(time, left);
		sink_buf_printf(t->to, "%*s(and %u more, %s together)\n", 2 * (int)depth, "",
				n_left, time);
	}
}

static int tree_width(const struct tree *t)
{
	size_t width = NAME_LEAST;

	for (uint32_t i = 0; i < t->n; i++) {
		size_t len = strlen(calls_path_function(t->s->calls, t->v[i].path)->name) + 8;

		if (len > width)
			width = len;
	}
	return (int)width;
}

/* Only where functions called each other. */
static void add_tree(struct stats *s, struct sink_buf *to)
{
	struct tree t = { .s = s, .to = to };
	bool has_calls = false;

	if (!s->calls)
		return;
	if (!plant_tree(&t)) {
		s->sink.is_short = true;
	} else {
		for (uint32_t i = 0; i < t.n; i++)
			has_calls |= t.v[i].parent != 0;
		if (has_calls) {
			int width = tree_width(&t);

			sink_buf_printf(to, "\n%-*s %10s %9s %9s\n", width, "CALL TREE",
					"CALLS", "TOTAL", "SELF");
			add_below(&t, 0, 0, width);
		}
	}
	free(t.v);
	free(t.first);
}

/* --- the rest -------------------------------------------------------------------------------- */

static void add_events(struct stats *s, struct sink_buf *to)
{
	size_t n;
	const struct stats_event **all = stats_events(s, &n);

	if (!all)
		s->sink.is_short = true;
	if (n)
		sink_buf_printf(to, "%s%-*s %10s\n", to->len ? "\n" : "", NAME_LEAST, "EVENT",
				"HITS");
	for (size_t i = 0; i < n; i++)
		sink_buf_printf(to, "%-*s %10" PRIu64 "\n", NAME_LEAST, all[i]->name,
				all[i]->n);
	free(all);
}

static void add_note(struct sink_buf *to, uint64_t n, const char *one, const char *many)
{
	if (n)
		sink_buf_printf(to, "%" PRIu64 " %s\n", n, n == 1 ? one : many);
}

static void add_notes(const struct stats *s, struct sink_buf *to)
{
	struct calls_counts counts = stats_counts(s);

	if (counts.no_entry || counts.left || counts.open || counts.given_up || s->lost)
		sink_buf_add(to, "\n", 1);
	add_note(to, s->lost, "event was lost", "events were lost");
	add_note(to, counts.uncertain,
		 "call was open while events were lost: it is not counted",
		 "calls were open while events were lost: they are not counted");
	add_note(to, counts.no_entry, "return has no entry: it is not counted",
		 "returns have no entry: they are not counted");
	add_note(to, counts.left, "call was left without a return (an exception, longjmp)",
		 "calls were left without a return (exceptions, longjmp)");
	add_note(to, counts.open, "call had not returned at the end",
		 "calls had not returned at the end");
	add_note(to, counts.given_up, "call was given up, since too many were open",
		 "calls were given up, since too many were open");
}

void stats_text(struct stats *s, struct sink_buf *to)
{
	add_functions(s, to);
	add_tree(s, to);
	add_events(s, to);
	add_notes(s, to);
}
