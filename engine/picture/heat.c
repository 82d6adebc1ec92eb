/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A heat map: time from left to right, latency upwards, the more hits the lighter. Without latencies: functions upwards. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/picture/svg.h"

#define LEFT      150
#define RIGHT     20
#define TOP       70
#define COLUMNS   256
#define ROWS_MOST 128
#define KEYS_MOST 24
#define LEVELS    9

struct heat {
	const struct picture *p;
	double *cells;                          /* [row * COLUMNS + column] */
	unsigned n_rows, n_columns, per_column; /* .per_column: bins of time */
	double most;
	bool by_lat;
	unsigned first, per_row; /* bins of latency */
	uint16_t key[KEYS_MOST]; /* else: of each row */
	unsigned row_height, bottom;
};

/* Cividis, dark to light. */
static const char *const levels[LEVELS] = { "#00306f", "#2a406c", "#48506b",
					    "#5e616e", "#737274", "#8a8678",
					    "#a59c74", "#c3b369", "#fee838" };

/* --- rows -------------------------------------------------------------------------------------------- */

static void find_latencies(struct heat *h)
{
	const struct cube *cube = &h->p->cube;
	unsigned lo = UINT16_MAX, hi = 0;

	for (size_t i = 0; i < cube->n; i++) {
		unsigned lat = cube->v[i].at.lat;

		if (!lat)
			continue;
		lo = lat < lo ? lat : lo;
		hi = lat > hi ? lat : hi;
	}
	h->by_lat = hi != 0;
	if (!hi)
		return;
	h->per_row = hi - lo > 100 ? 8 : hi - lo > 40 ? 4 : 2;
	h->per_row = h->per_row < cube->step ? cube->step : h->per_row;
	h->first = (lo - 1) / h->per_row * h->per_row + 1;
	h->n_rows = (hi - h->first) / h->per_row + 1;
	h->n_rows = h->n_rows > ROWS_MOST ? ROWS_MOST : h->n_rows;
}

static int by_count(const void *a, const void *b, void *ctx)
{
	const double *counts = ctx;
	double x = counts[*(const uint16_t *)a], y = counts[*(const uint16_t *)b];

	return (x < y) - (x > y);
}

/* The functions that have most, the first of them at the top. */
static int find_keys(struct heat *h)
{
	const struct cube *cube = &h->p->cube;
	double *counts = calloc(h->p->keys.n, sizeof(*counts));
	uint16_t *order = calloc(h->p->keys.n, sizeof(*order));
	int rc = counts && order ? 0 : -1;

	if (rc == 0) {
		for (size_t i = 0; i < cube->n; i++)
			counts[cube->v[i].at.key] += cube->v[i].count;
		for (size_t i = 0; i < h->p->keys.n; i++)
			order[i] = (uint16_t)i;
		qsort_r(order, h->p->keys.n, sizeof(*order), by_count, counts);
		while (h->n_rows < KEYS_MOST && h->n_rows < h->p->keys.n &&
		       counts[order[h->n_rows]] > 0)
			h->n_rows++;
		for (unsigned row = 0; row < h->n_rows; row++)
			h->key[row] = order[h->n_rows - 1 - row];
	}
	free(counts);
	free(order);
	return rc;
}

static int row_of(const struct heat *h, const struct cube_place *at)
{
	if (h->by_lat)
		return at->lat ? (int)((at->lat - h->first) / h->per_row) : -1;
	for (unsigned row = 0; row < h->n_rows; row++)
		if (h->key[row] == at->key)
			return (int)row;
	return -1;
}

/* --- cells ------------------------------------------------------------------------------------------- */

static int fill(struct heat *h)
{
	const struct cube *cube = &h->p->cube;
	uint64_t bins = picture_span(h->p) / cube->width + 1;

	find_latencies(h);
	if (!h->by_lat && find_keys(h) < 0)
		return -1;
	h->per_column = (unsigned)((bins + COLUMNS - 1) / COLUMNS);
	h->n_columns = (unsigned)((bins + h->per_column - 1) / h->per_column);
	h->cells = calloc((size_t)COLUMNS * (h->n_rows + 1), sizeof(*h->cells));
	if (!h->cells)
		return -1;
	for (size_t i = 0; i < cube->n; i++) {
		int row = row_of(h, &cube->v[i].at);
		unsigned column = cube->v[i].at.t / h->per_column;
		double *cell;

		if (row < 0 || row >= (int)h->n_rows || column >= h->n_columns)
			continue;
		cell = &h->cells[(size_t)row * COLUMNS + column];
		*cell += cube->v[i].count;
		h->most = *cell > h->most ? *cell : h->most;
	}
	return 0;
}

/* --- drawn ------------------------------------------------------------------------------------------- */

/* To the base of 2, straight between powers: good enough for colours, and needs no libm. */
static double logarithm(double x)
{
	uint64_t n = x < 1 ? 1 : x > 1e18 ? UINT64_C(1) << 60 : (uint64_t)x;
	unsigned e = 63 - (unsigned)__builtin_clzll(n);

	return e + x / (double)(UINT64_C(1) << e) - 1;
}

static double column_x(const struct heat *h, unsigned column)
{
	return LEFT + (double)(SVG_WIDTH - LEFT - RIGHT) * column / h->n_columns;
}

/* All cells of a level are one path: that is a fraction of as many rectangles. */
static void put_level(struct out *out, const struct heat *h, unsigned level)
{
	bool any = false;

	for (unsigned row = 0; row < h->n_rows; row++)
		for (unsigned column = 0; column < h->n_columns; column++) {
			double n = h->cells[(size_t)row * COLUMNS + column], part;

			if (n <= 0)
				continue;
			part = h->most > 0 ? logarithm(n + 1) / logarithm(h->most + 1) : 1;
			if ((unsigned)(part * (LEVELS - 1) + 0.5) != level)
				continue;
			if (!any)
				out_printf(out, "<path fill=\"%s\" d=\"", levels[level]);
			any = true;
			out_printf(out, "M%.1f %uh%.1fv%uh-%.1fz", column_x(h, column),
				   h->bottom - (row + 1) * h->row_height,
				   column_x(h, column + 1) - column_x(h, column),
				   h->row_height - !h->by_lat,
				   column_x(h, column + 1) - column_x(h, column));
		}
	if (any)
		out_text(out, "\"/>\n");
}

static void put_rows(struct out *out, const struct heat *h)
{
	unsigned every = (15 + h->row_height - 1) / h->row_height;
	char buf[SVG_NS_SIZE];

	for (unsigned row = 0; row < h->n_rows; row += every) {
		unsigned y = h->bottom - row * h->row_height + (h->by_lat ? 4 : 0) -
			     (h->by_lat ? 0 : h->row_height / 2 - 4);

		out_printf(out, "<text class=\"muted\" x=\"%u\" y=\"%u\" text-anchor=\"end\">",
			   LEFT - 8, y);
		if (h->by_lat) {
			out_text(out, svg_ns((double)cube_lat_ns(
						     (uint16_t)(h->first + row * h->per_row)),
					     buf));
		} else {
			const char *name =
				names_text(&h->p->names, h->p->keys.v[h->key[row]].name);

			out_xml(out, name, strnlen(name, 22));
		}
		out_text(out, "</text>\n");
	}
}

/* 1, 2 or 5 times a power of ten, so that there are eight of them at most. */
static double round_step(double span)
{
	static const double steps[] = { 1, 2, 5 };

	for (double unit = 1;; unit *= 10)
		for (unsigned i = 0; i < 3; i++)
			if (span / (steps[i] * unit) <= 8)
				return steps[i] * unit;
}

static void put_times(struct out *out, const struct heat *h)
{
	double span = (double)picture_span(h->p), step = round_step(span);
	char buf[SVG_NS_SIZE];

	for (unsigned i = 0; i * step <= span; i++) {
		double t = i * step;
		double x = LEFT + (SVG_WIDTH - LEFT - RIGHT) * t / span;

		out_printf(out,
			   "<path class=\"line\" d=\"M%.1f %uv5\"/><text class=\"muted\" "
			   "x=\"%.1f\" y=\"%u\" text-anchor=\"%s\">%s</text>\n",
			   x, h->bottom, x, h->bottom + 20,
			   x > SVG_WIDTH - 60 ? "end" : "middle", t > 0 ? svg_ns(t, buf) : "0");
	}
}

static void put_scale(struct out *out, const struct heat *h)
{
	for (unsigned i = 0; i < LEVELS; i++)
		out_printf(out,
			   "<rect x=\"%u\" y=\"36\" width=\"16\" height=\"10\" fill=\"%s\"/>",
			   SVG_WIDTH - 250 + i * 16, levels[i]);
	out_printf(out,
		   "<text class=\"muted\" x=\"%u\" y=\"46\" text-anchor=\"end\">1</text><text "
		   "class=\"muted\" x=\"%u\" y=\"46\">%.0f</text>\n",
		   SVG_WIDTH - 258, SVG_WIDTH - 250 + LEVELS * 16 + 8, h->most);
}

void picture_heat(struct picture *p)
{
	struct heat h = { .p = p };
	struct out out;

	out_begin(&out, &p->ops);
	if (fill(&h) < 0)
		h.n_rows = h.n_columns = 0;
	h.row_height = !h.by_lat ? 18 : h.n_rows > 40 ? 8 : 14;
	h.bottom = TOP + (h.n_rows ? h.n_rows : 1) * h.row_height;
	svg_begin(&out, h.bottom + 36, h.by_lat ? "Latencies over time" : "Events over time");
	svg_about(&out, p, 46);
	out_printf(&out,
		   "<rect class=\"well\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n",
		   LEFT, TOP, SVG_WIDTH - LEFT - RIGHT, h.bottom - TOP);
	for (unsigned level = 0; h.n_rows && level < LEVELS; level++)
		put_level(&out, &h, level);
	put_rows(&out, &h);
	put_times(&out, &h);
	if (h.n_rows)
		put_scale(&out, &h);
	svg_end(&out);
	out_end(&out);
	free(h.cells);
}
