/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Variables as fetch args. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/base/vec.h"
#include "engine/define/expand.h"
#include "engine/spec/argument.h"
#include "engine/spec/chars.h"
#include "engine/spec/type.h"

struct making {
	struct dwarf *dwarf;
	const struct expand_definition *d;
	const struct dwarf_place *place;
	struct expand_args *args;
	struct expand_left_out *left_out;
	struct ubp_err *err;
};

static int out_of_memory(struct ubp_err *err)
{
	return ubp_fail(err, ENOMEM, "out of memory");
}

/* @text, allocated, becomes the args'; NULL: out of memory. */
static const char *keep(struct expand_args *args, char *text)
{
	if (!text || VEC_ROOM(args->texts, &args->cap_texts, args->n_texts) < 0) {
		free(text);
		return NULL;
	}
	args->texts[args->n_texts++] = text;
	return text;
}

void expand_args_free(struct expand_args *args)
{
	while (args->n_texts)
		free(args->texts[--args->n_texts]);
	free(args->texts);
	free(args->v);
	*args = (struct expand_args){ 0 };
}

void expand_left_out_free(struct expand_left_out *left_out)
{
	while (left_out->n)
		free(left_out->names[--left_out->n]);
	free(left_out->names);
	*left_out = (struct expand_left_out){ 0 };
}

static unsigned col_of(const struct making *m, const char *s)
{
	return (unsigned)(s - m->d->words.text);
}

/* --- names ------------------------------------------------------------------------- */

static bool is_taken(const struct making *m, const char *name)
{
	for (size_t i = 0; i < m->args->n; i++)
		if (m->args->v[i].name && strcmp(m->args->v[i].name, name) == 0)
			return true;
	/* Those that are yet to come. */
	for (size_t i = 0; i < m->d->n_args; i++)
		if (span_is(m->d->args[i].name, name))
			return true;
	return false;
}

/* The last name in "buf->req.name[2]", "&ns::x": the one of the value. */
static struct spec_span last_name(struct spec_span expr)
{
	size_t end = expr.len, start;

	while (end > 0) {
		/* An index is no name. */
		if (expr.s[end - 1] == ']')
			while (end > 0 && expr.s[end - 1] != '[')
				end--;
		else if (char_is_name(expr.s[end - 1]))
			break;
		if (end > 0)
			end--;
	}
	for (start = end; start > 0 && char_is_name(expr.s[start - 1]);)
		start--;
	return (struct spec_span){ expr.s + start, end - start };
}

/* A name of its own, not longer than they may be. NULL: out of memory. */
static const char *make_name(struct making *m, struct spec_span wanted)
{
	char name[SPEC_ARG_NAME_MAX + 1], tail[16] = "";

	for (unsigned i = 2;; i++) {
		size_t len = SPEC_ARG_NAME_MAX - strlen(tail), n = 0;

		if (wanted.len == 0 || char_is_digit(wanted.s[0]))
			name[n++] = '_';
		for (size_t at = 0; at < wanted.len && n < len; at++)
			name[n++] = (char)(char_is_name(wanted.s[at]) ? wanted.s[at] : '_');
		memcpy(name + n, tail, strlen(tail) + 1);
		if (!is_taken(m, name))
			return keep(m->args, strdup(name));
		snprintf(tail, sizeof(tail), "_%u", i);
	}
}

/* --- one arg ------------------------------------------------------------------------ */

static int add(struct making *m, const struct plain_arg *arg)
{
	struct expand_args *args = m->args;

	if (!arg->name || !arg->text || VEC_ROOM(args->v, &args->cap, args->n) < 0)
		return out_of_memory(m->err);
	args->v[args->n++] = *arg;
	return 0;
}

static const char *text_of(struct making *m, const struct dwarf_value *value)
{
	char *text;

	if (asprintf(&text, "%s%s%s", value->expr, value->type[0] ? ":" : "", value->type) < 0)
		return NULL;
	return keep(m->args, text);
}

/* The kernel's name for one without, from its place. */
static const char *name_of_place(struct making *m)
{
	char name[16];

	snprintf(name, sizeof(name), "arg%zu", m->args->n + 1);
	return make_name(m, (struct spec_span){ name, strlen(name) });
}

static const char *copy(struct making *m, struct spec_span text)
{
	return keep(m->args, strndup(text.s, text.len));
}

static int add_plain(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .is_verbatim = true };

	if (spec_argument(arg->expr) && !m->place->is_entry &&
	    m->d->probe_kind != PROBE_RETURN) {
		(void)ubp_fail(m->err, EINVAL,
			       "Arguments are known only where a function is entered");
		return expand_at(m->d, col_of(m, arg->expr.s), m->err);
	}
	plain.name = arg->name.s ? copy(m, arg->name) : name_of_place(m);
	plain.text = copy(m, arg->expr);
	plain.col = col_of(m, arg->expr.s);
	return add(m, &plain);
}

/* "req:struct": a struct, or what a pointer to one points to. */
static bool is_whole(const struct expand_arg *arg)
{
	return arg->kind == EXPAND_VARIABLE && span_is(arg->type, "struct");
}

/* Is it a type? What it is of comes later. */
static int check_type(const struct making *m, const struct expand_arg *arg)
{
	struct spec_body body = { .has_type = true, .type = arg->type };
	const char *bracket = span_find(arg->type, '[');
	struct spec_type type;

	if (bracket)
		body.type = span_until(arg->type, bracket);
	if (!arg->type.s || is_whole(arg) || spec_type_find(&body, false, &type))
		return 0;
	(void)ubp_fail(m->err, EINVAL, "Unknown type is specified");
	return expand_at(m->d, col_of(m, arg->type.s), m->err);
}

/* --- whole structs and arrays ---------------------------------------------------------- */

static int leave_out(struct making *m, const char *name, const char *why);

/* Structs in structs in structs. */
#define DEPTH_MAX 8

/* One of a struct's or array's parts, which may have parts itself. */
struct whole {
	struct making *m;
	unsigned col, depth;
	const char *expr; /* "s.i" */
	const char *name; /* "s_i" */
	size_t n_added;
	unsigned *left; /* parts without parts that there may be yet; NULL: any number */
};

static int add_parts_of(struct whole *w);

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
		return leave_out(w->m, expr, "there are too many");
	plain.name = make_name(w->m, (struct spec_span){ name, strlen(name) });
	plain.text = text_of(w->m, value);
	w->n_added++;
	return add(w->m, &plain);
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
	rc = why.code == ENOTSUP && inner.depth < DEPTH_MAX ? add_parts_of(&inner) : -ENOTSUP;
	w->n_added += inner.n_added;
	if (rc == 0 || rc == -ENOMEM || rc == -E2BIG)
		return rc;
	ubp_err_reset(m->err);
	rc = take_one(w);
	return rc < 0 ? rc : leave_out(m, expr, why.text);
}

static int add_part(void *ctx, const char *step, const char *name)
{
	struct whole *w = ctx;
	char *expr = NULL, *full = NULL;
	int rc;

	if (asprintf(&expr, "%s%s", w->expr, step) < 0 ||
	    asprintf(&full, "%s_%s", w->name, name) < 0) {
		free(expr);
		return out_of_memory(w->m->err);
	}
	rc = add_part_at(w, expr, full);
	free(expr);
	free(full);
	return rc;
}

static int add_parts_of(struct whole *w)
{
	return dwarf_each_part(w->m->dwarf, w->m->place, w->expr, strlen(w->expr), add_part, w,
			       w->m->err);
}

/* The parts of @expr, called like @arg. */
static int add_parts(struct making *m, const struct expand_arg *arg, const char *expr,
		     size_t *ret_n)
{
	struct spec_span wanted = arg->name.s ? arg->name : last_name(arg->expr);
	char *name = strndup(wanted.s, wanted.len);
	struct whole w = { m, col_of(m, arg->expr.s), 0, expr, name, 0, NULL };
	int rc = name ? add_parts_of(&w) : out_of_memory(m->err);

	free(name);
	*ret_n = w.n_added;
	return rc;
}

/* There is no arg for it as a whole: @why. */
static int add_whole(struct making *m, const struct expand_arg *arg, const struct ubp_err *why)
{
	bool is_deref = arg->expr.s[0] == '*'; /* "(*s).x" */
	char *expr = NULL;
	size_t n = 0;
	int rc;

	if (asprintf(&expr, "%s%.*s%s", is_deref ? "(" : "", (int)arg->expr.len, arg->expr.s,
		     is_deref ? ")" : "") < 0)
		return out_of_memory(m->err);
	rc = add_parts(m, arg, expr, &n);
	free(expr);
	if ((rc == 0 && n) || rc == -ENOMEM)
		return rc;
	*m->err = *why;
	return expand_at(m->d, col_of(m, arg->expr.s), m->err);
}

/* "req:struct" */
static int add_struct(struct making *m, const struct expand_arg *arg)
{
	struct dwarf_value ignored;
	char *expr = NULL;
	size_t n = 0, at = 0;
	int rc = dwarf_value(m->dwarf, m->place, arg->expr.s, arg->expr.len, NULL, &ignored,
			     &at, m->err);

	if (rc < 0 && rc != -ENOTSUP) /* no such variable, optimised out */
		return expand_at(m->d, col_of(m, arg->expr.s) + (unsigned)at, m->err);
	for (unsigned stars = 0; stars < 2; stars++) {
		if (asprintf(&expr, "(%s%.*s)", stars ? "*" : "", (int)arg->expr.len,
			     arg->expr.s) < 0)
			return out_of_memory(m->err);
		rc = add_parts(m, arg, expr, &n);
		free(expr);
		if ((rc == 0 && n) || rc == -ENOMEM)
			return rc;
	}
	(void)ubp_fail(m->err, EINVAL, "%.*s is no struct, nor does it point to one",
		       (int)arg->expr.len, arg->expr.s);
	return expand_at(m->d, col_of(m, arg->expr.s), m->err);
}

static int add_variable(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .col = col_of(m, arg->expr.s) };
	struct dwarf_value value;
	const char *type = NULL;
	size_t at = 0;
	int rc = check_type(m, arg);

	if (rc < 0)
		return rc;
	if (is_whole(arg))
		return add_struct(m, arg);
	if (arg->type.s) {
		type = copy(m, arg->type);
		if (!type)
			return out_of_memory(m->err);
	}
	rc = dwarf_value(m->dwarf, m->place, arg->expr.s, arg->expr.len, type, &value, &at,
			 m->err);
	if (rc == -ENOTSUP && !type) {
		struct ubp_err why = *m->err;

		return add_whole(m, arg, &why);
	}
	if (rc < 0)
		return expand_at(m->d, plain.col + at, m->err);
	plain.name = arg->name.s ? copy(m, arg->name) : make_name(m, last_name(arg->expr));
	plain.text = text_of(m, &value);
	plain.names = value.names;
	return add(m, &plain);
}

/* The innermost of "+8(+0(" with @addend more. NULL: out of memory. */
static char *add_to_head(const struct expand_arg *arg, int64_t addend)
{
	const char *end = arg->head.s + arg->head.len, *sign = end - 1;
	int64_t offset = 0;
	char *text;
	bool is_user;

	while (sign > arg->head.s && sign[-1] != '(')
		sign--;
	if (!addend)
		return strndup(arg->head.s, arg->head.len);
	is_user = sign[1] == 'u';
	(void)num_s64(sign + 1 + is_user, (size_t)(end - sign) - 2 - is_user, &offset);
	if (*sign == '-')
		offset = (int64_t) - (uint64_t)offset;
	offset = (int64_t)((uint64_t)offset + (uint64_t)addend);
	return asprintf(&text, "%.*s%s%s%" PRId64 "(", (int)(sign - arg->head.s), arg->head.s,
			offset < 0 ? "" : "+", is_user ? "u" : "", offset) < 0
		       ? NULL
		       : text;
}

static int check_braces(const struct making *m, const struct expand_arg *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < arg->head.len; i++)
		n += arg->head.s[i] == '(';
	if (n == arg->tail.len)
		return 0;
	(void)ubp_fail(m->err, EINVAL, "Dereference brace is not closed");
	return expand_at(m->d, col_of(m, arg->tail.s + arg->tail.len), m->err);
}

static int add_pointed(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .col = col_of(m, arg->expr.s) };
	struct dwarf_value value;
	int64_t addend = 0;
	size_t at = 0;
	char *head, *text;
	int rc = check_braces(m, arg);

	if (rc == 0)
		rc = check_type(m, arg);
	if (rc < 0)
		return rc;
	rc = dwarf_pointer(m->dwarf, m->place, arg->expr.s, arg->expr.len, &value, &addend, &at,
			   m->err);
	if (rc < 0)
		return expand_at(m->d, plain.col + at, m->err);
	head = add_to_head(arg, addend);
	if (!head || asprintf(&text, "%s%s%.*s%s%.*s", head, value.expr, (int)arg->tail.len,
			      arg->tail.s, arg->type.s ? ":" : "", (int)arg->type.len,
			      arg->type.s ? arg->type.s : "") < 0)
		text = NULL;
	free(head);
	plain.name = arg->name.s ? copy(m, arg->name) : make_name(m, last_name(arg->expr));
	plain.text = keep(m->args, text);
	return add(m, &plain);
}

/* --- $params, $vars -------------------------------------------------------------------- */

struct all {
	struct making *m;
	const struct expand_arg *arg;
	size_t n;
};

static int leave_out(struct making *m, const char *name, const char *why)
{
	struct expand_left_out *l = m->left_out;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return 0;
	if (l->n == 0)
		snprintf(l->why, sizeof(l->why), "%s", why);
	if (VEC_ROOM(l->names, &l->cap, l->n) < 0)
		return out_of_memory(m->err);
	l->names[l->n] = strdup(name);
	return l->names[l->n++] ? 0 : out_of_memory(m->err);
}

/* What has more parts than that, with those of its own parts, is not asked for by $params. */
#define FEW_PARTS 4

/* The parts of struct @name, if they are few: else what it was refused for, @why, is told. */
static int add_few_parts(struct all *all, const char *name, const char *why)
{
	struct making *m = all->m;
	unsigned left = FEW_PARTS;
	struct whole whole = { .m = m,
			       .col = col_of(m, all->arg->expr.s),
			       .expr = name,
			       .name = name,
			       .left = &left };
	size_t n_args = m->args->n, n_left_out = m->left_out->n;
	int rc = add_parts_of(&whole);

	if (rc == 0 && whole.n_added) {
		all->n += whole.n_added;
		return 0;
	}
	if (rc == -ENOMEM)
		return rc;
	m->args->n = n_args;
	while (m->left_out->n > n_left_out)
		free(m->left_out->names[--m->left_out->n]);
	ubp_err_reset(m->err);
	return leave_out(m, name, why);
}

static int add_each(void *ctx, const struct dwarf_variable *variable)
{
	struct all *all = ctx;
	struct making *m = all->m;
	struct plain_arg plain = { .col = col_of(m, all->arg->expr.s) };
	const char *name = variable->name;
	struct dwarf_value value;
	struct ubp_err why;
	size_t at;

	if (!name || (all->arg->kind == EXPAND_PARAMETERS && !variable->is_parameter))
		return 0;
	ubp_err_reset(&why);
	if (!variable->has_value)
		return leave_out(m, name, variable->why_not ? variable->why_not : "no value");
	if (dwarf_value(m->dwarf, m->place, name, strlen(name), NULL, &value, &at, &why) < 0)
		return why.code == ENOTSUP ? add_few_parts(all, name, why.text)
					   : leave_out(m, name, why.text);
	plain.name = make_name(m, (struct spec_span){ name, strlen(name) });
	plain.text = text_of(m, &value);
	plain.names = value.names;
	all->n++;
	return add(m, &plain);
}

static int add_all(struct making *m, const struct expand_arg *arg)
{
	struct all all = { m, arg, 0 };
	const char *what = arg->kind == EXPAND_PARAMETERS ? "parameter" : "variable";
	int rc;

	if (arg->name.s) {
		(void)ubp_fail(m->err, EINVAL,
			       "$params and $vars have the names of what they "
			       "stand for");
		return expand_at(m->d, col_of(m, arg->word.s), m->err);
	}
	rc = dwarf_each_variable(m->dwarf, m->place, add_each, &all, m->err);
	if (rc == 0 && all.n == 0 && m->left_out->n)
		rc = ubp_fail(m->err, ENODATA,
			      "no %s of %s has a value that can be read here (%s: %s)", what,
			      m->place->function, m->left_out->names[0], m->left_out->why);
	else if (rc == 0 && all.n == 0)
		rc = ubp_fail(m->err, ENODATA, "%s has no %ss",
			      m->place->function ? m->place->function : "this place", what);
	return rc < 0 ? expand_at(m->d, col_of(m, arg->expr.s), m->err) : 0;
}

int expand_args_at(struct dwarf *dwarf, const struct expand_definition *d,
		   const struct dwarf_place *place, struct expand_args *ret_args,
		   struct expand_left_out *left_out, struct ubp_err *err)
{
	struct making m = { dwarf, d, place, ret_args, left_out, err };
	int rc = 0;

	*ret_args = (struct expand_args){ 0 };
	for (size_t i = 0; i < d->n_args && rc == 0; i++) {
		const struct expand_arg *arg = &d->args[i];

		if (arg->kind == EXPAND_PLAIN)
			rc = add_plain(&m, arg);
		else if (arg->kind == EXPAND_VARIABLE)
			rc = add_variable(&m, arg);
		else if (arg->kind == EXPAND_POINTED)
			rc = add_pointed(&m, arg);
		else
			rc = add_all(&m, arg);
	}
	return rc;
}
