/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/making.h"

/* Structs in structs in structs. */
#define DEPTH_MAX 8

/* -E2BIG: there are more than are asked for. */
static int take_one(const struct whole *w)
{
	if (!w->left)
		return 0;
	if (*w->left == 0)
		return -E2BIG;
	--*w->left;
	return 0;
}

static int add_value(struct whole *w, const char *expr, const char *name,
		     const struct dwarf_value *value)
{
	struct plain_arg plain = { .col = w->col, .names = value->names };
	int rc = take_one(w);

	if (rc < 0)
		return rc;
	if (w->m->args->n >= SPEC_ARGS_MAX)
		return making_leave_out(w->m, expr, "there are too many");
	plain.name = making_name(w->m, (struct spec_span){ name, strlen(name) });
	plain.text = making_text(w->m, value);
	w->n_added++;
	return making_add(w->m, &plain);
}

/* "s.i" with its own parts, if it has no value as one. */
static int add_part_at(struct whole *w, const char *expr, const char *name)
{
	struct whole inner = { w->m, w->col, w->depth + 1, expr, name, 0, w->left };
	struct making *m = w->m;
	struct dwarf_value value;
	struct ubp_err why, ignored;
	size_t at, len = strlen(expr);
	int rc;

	ubp_err_reset(&why);
	ubp_err_reset(&ignored);
	if (dwarf_value(m->dwarf, m->place, expr, len, NULL, &value, &at, &why) == 0 ||
	    (why.code == ENOTSUP &&
	     dwarf_value(m->dwarf, m->place, expr, len, "string", &value, &at, &ignored) == 0))
		return add_value(w, expr, name, &value);
	rc = why.code == ENOTSUP && inner.depth < DEPTH_MAX ? whole_add_parts(&inner)
							    : -ENOTSUP;
	w->n_added += inner.n_added;
	if (rc == 0 || rc == -ENOMEM || rc == -E2BIG)
		return rc;
	ubp_err_reset(m->err);
	rc = take_one(w);
	return rc < 0 ? rc : making_leave_out(m, expr, why.text);
}

static int add_part(void *ctx, const char *step, const char *name)
{
	struct whole *w = ctx;
	char *expr = NULL, *full = NULL;
	int rc;

	if (asprintf(&expr, "%s%s", w->expr, step) < 0 ||
	    asprintf(&full, "%s_%s", w->name, name) < 0) {
		free(expr);
		return making_no_memory(w->m->err);
	}
	rc = add_part_at(w, expr, full);
	free(expr);
	free(full);
	return rc;
}

int whole_add_parts(struct whole *w)
{
	return dwarf_each_part(w->m->dwarf, w->m->place, w->expr, strlen(w->expr), add_part, w,
			       w->m->err);
}

/* The parts of @expr, called like @arg. */
static int add_parts(struct making *m, const struct expand_arg *arg, const char *expr,
		     size_t *ret_n)
{
	struct spec_span wanted = arg->name.s ? arg->name : making_last_name(arg->expr);
	char *name = strndup(wanted.s, wanted.len);
	struct whole w = { m, making_col(m, arg->expr.s), 0, expr, name, 0, NULL };
	int rc = name ? whole_add_parts(&w) : making_no_memory(m->err);

	free(name);
	*ret_n = w.n_added;
	return rc;
}

int whole_add(struct making *m, const struct expand_arg *arg, const struct ubp_err *why)
{
	bool is_deref = arg->expr.s[0] == '*'; /* "(*s).x" */
	char *expr = NULL;
	size_t n = 0;
	int rc;

	if (asprintf(&expr, "%s%.*s%s", is_deref ? "(" : "", (int)arg->expr.len, arg->expr.s,
		     is_deref ? ")" : "") < 0)
		return making_no_memory(m->err);
	rc = add_parts(m, arg, expr, &n);
	free(expr);
	if ((rc == 0 && n) || rc == -ENOMEM)
		return rc;
	*m->err = *why;
	return expand_at(m->d, making_col(m, arg->expr.s), m->err);
}

int whole_add_struct(struct making *m, const struct expand_arg *arg)
{
	struct dwarf_value ignored;
	char *expr = NULL;
	size_t n = 0, at = 0;
	int rc = dwarf_value(m->dwarf, m->place, arg->expr.s, arg->expr.len, NULL, &ignored,
			     &at, m->err);

	if (rc < 0 && rc != -ENOTSUP) /* no such variable, optimised out */
		return expand_at(m->d, making_col(m, arg->expr.s) + (unsigned)at, m->err);
	for (unsigned stars = 0; stars < 2; stars++) {
		if (asprintf(&expr, "(%s%.*s)", stars ? "*" : "", (int)arg->expr.len,
			     arg->expr.s) < 0)
			return making_no_memory(m->err);
		rc = add_parts(m, arg, expr, &n);
		free(expr);
		if ((rc == 0 && n) || rc == -ENOMEM)
			return rc;
	}
	(void)ubp_fail(m->err, EINVAL, "%.*s is no struct, nor does it point to one",
		       (int)arg->expr.len, arg->expr.s);
	return expand_at(m->d, making_col(m, arg->expr.s), m->err);
}
