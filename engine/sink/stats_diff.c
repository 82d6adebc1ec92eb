/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How two traces differ: functions by name, since files and offsets change from build to build. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sink/json.h"
#include "engine/sink/stats.h"

#define NAME_LEAST 24

struct pair {
	const char *name;
	const struct stats_function *old, *new; /* NULL: it is not there */
};

static uint64_t total_of(const struct stats_function *f)
{
	return f ? f->total : 0;
}

static uint64_t difference(const struct pair *p)
{
	uint64_t a = total_of(p->old), b = total_of(p->new);

	return a > b ? a - b : b - a;
}

static int by_name(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* What has changed most first. */
static int by_difference(const void *a, const void *b)
{
	uint64_t x = difference(a), y = difference(b);

	if (x != y)
		return x < y ? 1 : -1;
	return by_name(a, b);
}

/* Two of one name, one of each trace, become one. Returns how many are left. */
static size_t join(struct pair *v, size_t n)
{
	size_t left = 0;

	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		struct pair *last = left ? &v[left - 1] : NULL;

		if (last && strcmp(last->name, v[i].name) == 0 && !last->old != !v[i].old &&
		    !(last->old && last->new)) {
			if (v[i].old)
				last->old = v[i].old;
			else
				last->new = v[i].new;
		} else {
			v[left++] = v[i];
		}
	}
	qsort(v, left, sizeof(*v), by_difference);
	return left;
}

/* free() them. NULL: memory is short. */
static struct pair *make_pairs(struct sink *old, struct sink *new, size_t *ret_n)
{
	size_t n_old, n_new, n = 0;
	const struct stats_function **a = stats_by_total((struct stats *)old, &n_old);
	const struct stats_function **b = stats_by_total((struct stats *)new, &n_new);
	struct pair *v = a && b ? calloc(n_old + n_new + 1, sizeof(*v)) : NULL;

	for (size_t i = 0; v && i < n_old; i++)
		v[n++] = (struct pair){ a[i]->function->name, a[i], NULL };
	for (size_t i = 0; v && i < n_new; i++)
		v[n++] = (struct pair){ b[i]->function->name, NULL, b[i] };
	*ret_n = v ? join(v, n) : 0;
	if (!v)
		new->is_short = true;
	free(a);
	free(b);
	return v;
}

static void add_change(struct sink_buf *to, uint64_t old, uint64_t new)
{
	char text[STATS_TIME_MAX];

	stats_time(text, new);
	sink_buf_printf(to, " %9s", text);
	if (old == new)
		sink_buf_printf(to, " %8s", "=");
	else if (!old)
		sink_buf_printf(to, " %8s", "+");
	else
		sink_buf_printf(to, " %+7.1f%%",
				100 * ((double)new - (double)old) / (double)old);
}

static void add_pair(struct sink_buf *to, const struct pair *p, int width)
{
	sink_buf_printf(to, "%-*s", width, p->name);
	if (!p->old || !p->new) {
		const struct stats_function *its = p->old ? p->old : p->new;
		char text[STATS_TIME_MAX];

		stats_time(text, its->total);
		sink_buf_printf(to, " %8" PRIu64 " %8s %9s  %s\n", its->n,
				p->old ? "gone" : "new", text,
				p->old ? "only in the old trace" : "only in the new trace");
		return;
	}
	sink_buf_printf(to, " %8" PRIu64 " %+8" PRId64, p->new->n,
			(int64_t)(p->new->n - p->old->n));
	add_change(to, p->old->total, p->new->total);
	add_change(to, p->old->self, p->new->self);
	add_change(to, stats_quantile(p->old, 0.5), stats_quantile(p->new, 0.5));
	add_change(to, stats_quantile(p->old, 0.99), stats_quantile(p->new, 0.99));
	sink_buf_add(to, "\n", 1);
}

void stats_diff_text(struct sink *old, struct sink *new, struct sink_buf *to)
{
	size_t n, width = NAME_LEAST;
	struct pair *v = make_pairs(old, new, &n);

	for (size_t i = 0; i < n; i++)
		if (strlen(v[i].name) > width)
			width = strlen(v[i].name);
	if (n)
		sink_buf_printf(to, "%-*s %8s %8s %9s %8s %9s %8s %9s %8s %9s %8s\n",
				(int)width, "FUNCTION", "CALLS", "", "TOTAL", "", "SELF", "",
				"MEDIAN", "", "P99", "");
	for (size_t i = 0; i < n; i++)
		add_pair(to, &v[i], (int)width);
	free(v);
}

static void add_side(struct sink_buf *to, const char *key, const struct stats_function *f)
{
	sink_buf_printf(to, ",\"%s\":", key);
	if (!f) {
		sink_buf_add_text(to, "null");
		return;
	}
	sink_buf_add(to, "{", 1);
	stats_json_function(to, f);
	sink_buf_add(to, "}", 1);
}

void stats_diff_json(struct sink *old, struct sink *new, struct sink_buf *to)
{
	size_t n;
	struct pair *v = make_pairs(old, new, &n);

	sink_buf_add_text(to, "{\"functions\":[");
	for (size_t i = 0; i < n; i++) {
		sink_buf_add_text(to, i ? ",\n{\"name\":" : "\n{\"name\":");
		sink_json_quoted(to, v[i].name, strlen(v[i].name));
		add_side(to, "old", v[i].old);
		add_side(to, "new", v[i].new);
		sink_buf_add(to, "}", 1);
	}
	sink_buf_printf(to, "],\n\"quantile_error\":%.6f}\n", QUANTILES_ERROR);
	free(v);
}
