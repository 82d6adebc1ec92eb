/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Source lines of functions. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/dwarf/candidates.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/entry.h"
#include "engine/dwarf/function_names.h"
#include "engine/dwarf/functions.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/rows.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/units.h"
#include "engine/dwarf/unlimited.h"
#include "engine/elf/object.h"

/* No function has so many lines; a line table may claim it. */
#define LINES_MAX (1u << 20)

/* --- its instances ----------------------------------------------------------------- */

/* One of the DIEs with code, and where it is declared. */
struct instance {
	Dwarf_Die die;
	const char *file;
	unsigned first;
};

struct piece {
	Dwarf_Addr start, end;
};

struct line_walk {
	struct dwarf *d;
	struct instance *v;
	size_t n;
	struct map by_die;    /* DIE -> struct instance */
	struct map units;     /* that they are in */
	struct map functions; /* the same: DIEs */
	struct piece *pieces; /* of code of these, sorted, not overlapping */
	size_t n_pieces, cap_pieces;
	unsigned first, last; /* lines that are of interest */
	/* @is_call: the line is that of an inlined call. */
	int (*each)(void *ctx, struct instance *instance, Dwarf_Addr addr, unsigned line,
		    bool is_call);
	void *ctx;
	struct ubp_err *err;
};

static int add_piece(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct line_walk *w = ctx;
	int rc = dw_grow(&w->pieces, &w->cap_pieces, w->n_pieces, sizeof(*w->pieces), w->err);

	if (rc == 0)
		w->pieces[w->n_pieces++] = (struct piece){ start, end };
	return rc;
}

/*
 * Where rows of @in may stand: in all of the function that it is inlined into, since parts of
 * it may have been moved.
 */
static int add_pieces(struct line_walk *w, struct dw_unit *unit, struct instance *in)
{
	Dwarf_Die function = in->die;
	Dwarf_Addr addr;

	if (dwarf_tag(&in->die) == DW_TAG_inlined_subroutine &&
	    (!dw_entry(w->d, &in->die, &addr) || !dw_function_at(w->d, unit, addr, &function)))
		function = in->die;
	if (map_get(&w->functions, (uintptr_t)function.addr))
		return 0;
	if (map_put(&w->functions, (uintptr_t)function.addr, in) < 0)
		return ubp_fail(w->err, ENOMEM, "out of memory");
	return dw_each_range(&function, add_piece, w);
}

static int add_instance(struct line_walk *w, const struct dw_instance *found)
{
	struct instance *in = &w->v[w->n];
	struct dw_unit *unit = dw_unit_of(w->d, &found->die);

	*in = (struct instance){ .die = found->die };
	in->file = dw_decl_file(&in->die);
	in->first = dw_decl_line(&in->die);
	if (!found->has_code || !unit || !in->file || !in->first)
		return 0;
	w->n++;
	if (in->first < w->first)
		w->first = in->first;
	if (map_put(&w->by_die, (uintptr_t)in->die.addr, in) < 0 ||
	    map_put(&w->units, (uintptr_t)unit, unit) < 0)
		return ubp_fail(w->err, ENOMEM, "out of memory");
	return add_pieces(w, unit, in);
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void merge_pieces(struct line_walk *w)
{
	size_t n = 0;

	if (!w->n_pieces)
		return;
	qsort(w->pieces, w->n_pieces, sizeof(*w->pieces), compare_pieces);
	for (size_t i = 0; i < w->n_pieces; i++) {
		struct piece *last = n ? &w->pieces[n - 1] : NULL;

		if (!last || w->pieces[i].start > last->end)
			w->pieces[n++] = w->pieces[i];
		else if (w->pieces[i].end > last->end)
			last->end = w->pieces[i].end;
	}
	w->n_pieces = n;
}

static int compare_address(const void *key, const void *member)
{
	Dwarf_Addr addr = *(const Dwarf_Addr *)key;
	const struct piece *p = member;

	return addr < p->start ? -1 : addr >= p->end;
}

static bool is_inside(const struct line_walk *w, Dwarf_Addr addr)
{
	return w->n_pieces &&
	       bsearch(&addr, w->pieces, w->n_pieces, sizeof(*w->pieces), compare_address);
}

static int begin_walk(struct line_walk *w, const char *function)
{
	struct dw_instances found;
	int rc = dw_find(w->d, function, &found, w->err);

	if (rc < 0)
		return rc;
	w->first = w->last = UINT_MAX;
	w->v = calloc(found.n, sizeof(*w->v));
	if (!w->v) {
		dw_instances_free(&found);
		return ubp_fail(w->err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < found.n && rc == 0; i++)
		rc = add_instance(w, &found.v[i]);
	dw_instances_free(&found);
	merge_pieces(w);
	if (rc == 0 && w->n == 0)
		rc = ubp_fail(w->err, ENOENT, "function '%s' has no code in %s", function,
			      object_path(w->d->object));
	return rc;
}

static void end_walk(struct line_walk *w)
{
	free(w->v);
	free(w->pieces);
	map_free(&w->by_die);
	map_free(&w->units);
	map_free(&w->functions);
}

/* --- their lines --------------------------------------------------------------------- */

static int walk_row(void *ctx, const struct dw_row *row)
{
	struct line_walk *w = ctx;
	struct instance *in;
	const char *file;
	Dwarf_Die owner;

	if (row->lineno < w->first || row->lineno > w->last || !is_inside(w, row->addr))
		return 0;
	file = dw_row_file(row);
	if (!dw_row_owner(w->d, row, file, &owner))
		return 0;
	in = map_get(&w->by_die, (uintptr_t)owner.addr);
	if (!in || row->lineno < in->first || !dw_same_file(file, in->file))
		return 0;
	return w->each(w->ctx, in, row->addr, row->lineno, false);
}

/* Each call in @die that was inlined. The calls of inlined ones are theirs. */
static int walk_calls(struct line_walk *w, struct instance *in, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die child;
	int rc = 0;

	if (depth >= DW_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return 0;
	do {
		Dwarf_Addr addr;
		unsigned line;

		if (dw_is_scope(&child) && !dw_is_function(&child))
			rc = walk_calls(w, in, &child, depth + 1);
		if (dwarf_tag(&child) != DW_TAG_inlined_subroutine)
			continue;
		line = dw_call_line(&child);
		if (line >= in->first && line >= w->first && line <= w->last &&
		    dw_same_file(dw_call_file(&child), in->file) &&
		    dw_entry(w->d, &child, &addr))
			rc = w->each(w->ctx, in, addr, line, true);
	} while (rc == 0 && !dw_is_late() && dwarf_siblingof(&child, &child) == 0);
	return rc;
}

static int walk_lines(struct line_walk *w)
{
	size_t at = 0;
	void *unit;
	int rc = 0;

	while (rc == 0 && map_next(&w->units, &at, NULL, &unit))
		rc = dw_each_row(unit, walk_row, w);
	for (size_t i = 0; i < w->n && rc == 0; i++)
		rc = walk_calls(w, &w->v[i], &w->v[i].die, 0);
	return rc;
}

/* --- one of them ---------------------------------------------------------------------- */

struct function_line {
	struct line_walk walk;
	struct dw_candidates candidates;
	unsigned wanted; /* from the function's first */
	struct dw_near_lines near;
};

static int offer(void *ctx, struct instance *in, Dwarf_Addr addr, unsigned line, bool is_call)
{
	struct function_line *f = ctx;

	if (line - in->first != f->wanted) {
		dw_near_line(&f->near, f->wanted, line - in->first);
		return 0;
	}
	/* The row of a call is better than where the called begins. */
	if (is_call && dw_is_candidate(&f->candidates, &in->die))
		return 0;
	return dw_add_candidate(f->walk.d, &f->candidates, &in->die, addr, in->file, line,
				f->walk.err);
}

/* Functions of one name may begin at several lines. */
static void only_line(struct line_walk *w, unsigned wanted)
{
	w->last = 0;
	w->first = UINT_MAX;
	for (size_t i = 0; i < w->n; i++) {
		unsigned line = w->v[i].first + wanted;

		w->first = line < w->first ? line : w->first;
		w->last = line > w->last ? line : w->last;
	}
}

static int fail_no_line(struct function_line *f, const char *function, struct ubp_err *err)
{
	struct instance *in = &f->walk.v[0];
	char near[64];
	int rc;

	/* Now all of them, for those that are near. */
	only_line(&f->walk, 0);
	f->walk.last = UINT_MAX;
	rc = walk_lines(&f->walk);
	if (rc < 0)
		return rc;
	dw_near_text(&f->near, near, sizeof(near));
	return ubp_fail(err, ENOENT, "line %u of %s (%s:%u) has no code%s", f->wanted, function,
			dw_path(f->walk.d, &in->die, in->file), in->first + f->wanted, near);
}

int dw_function_line(struct dwarf *d, const char *function, unsigned line,
		     struct dwarf_places *ret_places, struct ubp_err *err)
{
	struct function_line f = { .walk = { .d = d, .err = err }, .wanted = line };
	int rc;

	*ret_places = (struct dwarf_places){ 0 };
	if (line == 0)
		return dw_function_places(d, function, false, ret_places, err);
	f.walk.each = offer;
	f.walk.ctx = &f;
	rc = begin_walk(&f.walk, function);
	if (rc == 0) {
		only_line(&f.walk, line);
		rc = walk_lines(&f.walk);
	}
	if (rc == 0)
		rc = dw_take_candidates(d, &f.candidates, ret_places, err);
	if (rc == 0 && ret_places->n == 0)
		rc = fail_no_line(&f, function, err);
	dw_free_candidates(&f.candidates);
	end_walk(&f.walk);
	if (rc < 0)
		dwarf_places_free(ret_places);
	return rc;
}

/* --- all of them ------------------------------------------------------------------------ */

struct all_lines {
	struct line_walk walk;
	struct dwarf_lines *lines;
	size_t cap;
};

static int make_room(struct all_lines *a, size_t at)
{
	while (at >= a->cap) {
		size_t had = a->cap;

		if (VEC_ROOM(a->lines->is_probeable, &a->cap, had) < 0)
			return ubp_fail(a->walk.err, ENOMEM, "out of memory");
		memset(a->lines->is_probeable + had, 0, a->cap - had);
	}
	return 0;
}

static int mark(struct all_lines *a, const struct instance *in, unsigned line)
{
	struct dwarf_lines *lines = a->lines;
	size_t at = line - in->first;
	int rc;

	/* Another function of that name. */
	if (in->first != lines->first || !dw_same_file(in->file, lines->file) ||
	    at >= LINES_MAX)
		return 0;
	rc = make_room(a, at);
	if (rc < 0)
		return rc;
	lines->is_probeable[at] = true;
	if (line > lines->last)
		lines->last = line;
	return 0;
}

static int mark_each(void *ctx, struct instance *in, Dwarf_Addr addr, unsigned line,
		     bool is_call)
{
	struct all_lines *a = ctx;

	(void)is_call;
	return dw_is_line_of(a->walk.d, addr, in->file, line) ? mark(a, in, line) : 0;
}

int dw_lines_of(struct dwarf *d, const char *function, struct dwarf_lines *ret_lines,
		struct ubp_err *err)
{
	struct all_lines a = { .walk = { .d = d, .err = err }, .lines = ret_lines };
	struct instance *in;
	int rc;

	*ret_lines = (struct dwarf_lines){ 0 };
	a.walk.each = mark_each;
	a.walk.ctx = &a;
	rc = begin_walk(&a.walk, function);
	if (rc == 0) {
		in = &a.walk.v[0];
		*ret_lines = (struct dwarf_lines){ dw_full_name(d, &in->die), in->file,
						   in->first, in->first, NULL };
		rc = make_room(&a, 0);
	}
	/* Where it begins is its line 0, whatever the table says. */
	for (size_t i = 0; i < a.walk.n && rc == 0; i++)
		if (dwarf_tag(&a.walk.v[i].die) != DW_TAG_inlined_subroutine)
			rc = mark(&a, &a.walk.v[i], a.walk.v[i].first);
	if (rc == 0)
		rc = walk_lines(&a.walk);
	if (rc == 0)
		ret_lines->file = dw_path(d, &a.walk.v[0].die, ret_lines->file);
	end_walk(&a.walk);
	if (rc < 0)
		dwarf_lines_free(ret_lines);
	return rc;
}

void dwarf_lines_free(struct dwarf_lines *lines)
{
	free(lines->is_probeable);
	*lines = (struct dwarf_lines){ 0 };
}
