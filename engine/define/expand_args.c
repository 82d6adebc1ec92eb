/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Variables as fetch args. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/define/expand.h"
#include "engine/define/making.h"
#include "engine/define/whole.h"
#include "engine/spec/argument.h"
#include "engine/spec/hint.h"
#include "engine/spec/type.h"

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

/* --- one arg ------------------------------------------------------------------------ */

/* The kernel's name for one without, from its place. */
static const char *name_of_place(struct making *m)
{
	char name[16];

	snprintf(name, sizeof(name), "arg%zu", m->args->n + 1);
	return making_name(m, (struct spec_span){ name, strlen(name) });
}

static int add_plain(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .is_verbatim = true };

	if (spec_argument(arg->expr) && !m->place->is_entry &&
	    m->d->probe_kind != PROBE_RETURN) {
		(void)ubp_fail(m->err, EINVAL,
			       "Arguments are known only where a function is entered");
		return expand_at(m->d, making_col(m, arg->expr.s), m->err);
	}
	plain.name = arg->name.s ? making_copy(m, arg->name) : name_of_place(m);
	plain.text = making_copy(m, arg->expr);
	plain.col = making_col(m, arg->expr.s);
	return making_add(m, &plain);
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
	hint_type_name(body.type, m->err);
	return expand_at(m->d, making_col(m, arg->type.s), m->err);
}

/* Member @name of what @arg is about, as @type says; NULL: as its own. */
static int member_of(struct making *m, const struct expand_arg *arg, const char *name,
		     const char *type, struct dwarf_value *ret_value)
{
	char *expr = NULL;
	size_t at;
	int rc;

	if (asprintf(&expr, "(%.*s).%s", (int)arg->expr.len, arg->expr.s, name) < 0)
		return making_no_memory(m->err);
	rc = dwarf_value(m->dwarf, m->place, expr, strlen(expr), type, ret_value, &at, m->err);
	free(expr);
	return rc;
}

/* "text:string" of what no NUL ends: its length, called NAME_len, in front of it, and so many bytes. */
static int add_counted(struct making *m, const struct expand_arg *arg, const char *type)
{
	struct plain_arg len = { .col = making_col(m, arg->expr.s) }, text = len;
	struct dwarf_value value;
	char *name = NULL, *made = NULL;
	int rc = member_of(m, arg, "len", NULL, &value);

	if (rc == -ENOENT)
		rc = member_of(m, arg, "size", NULL, &value);
	if (rc < 0)
		return expand_at(m->d, len.col, m->err);
	text.name = arg->name.s ? making_copy(m, arg->name)
				: making_name(m, making_last_name(arg->expr));
	if (!text.name || asprintf(&name, "%s_len", text.name) < 0)
		return making_no_memory(m->err);
	len.name = making_name(m, (struct spec_span){ name, strlen(name) });
	free(name);
	len.text = making_text(m, &value);
	rc = making_add(m, &len);
	if (rc == 0)
		rc = member_of(m, arg, "data", type, &value);
	if (rc < 0)
		return expand_at(m->d, text.col, m->err);
	if (asprintf(&made, "%s:%s[%s]", value.expr, type, len.name) < 0)
		return making_no_memory(m->err);
	text.text = making_keep(m->args, made);
	return making_add(m, &text);
}

static int add_variable(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .col = making_col(m, arg->expr.s) };
	struct dwarf_value value;
	const char *type = NULL;
	size_t at = 0;
	int rc = check_type(m, arg);

	if (rc < 0)
		return rc;
	if (is_whole(arg))
		return whole_add_struct(m, arg);
	if (arg->type.s) {
		type = making_copy(m, arg->type);
		if (!type)
			return making_no_memory(m->err);
	}
	rc = dwarf_value(m->dwarf, m->place, arg->expr.s, arg->expr.len, type, &value, &at,
			 m->err);
	if (rc == -ENOTSUP && !type) {
		struct ubp_err why = *m->err;

		return whole_add(m, arg, &why);
	}
	if (rc == -ENOTSUP && value.is_counted)
		return add_counted(m, arg, type);
	if (rc < 0)
		return expand_at(m->d, plain.col + at, m->err);
	plain.name = arg->name.s ? making_copy(m, arg->name)
				 : making_name(m, making_last_name(arg->expr));
	plain.text = making_text(m, &value);
	plain.names = value.names;
	return making_add(m, &plain);
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
	return expand_at(m->d, making_col(m, arg->tail.s + arg->tail.len), m->err);
}

static int add_pointed(struct making *m, const struct expand_arg *arg)
{
	struct plain_arg plain = { .col = making_col(m, arg->expr.s) };
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
	plain.name = arg->name.s ? making_copy(m, arg->name)
				 : making_name(m, making_last_name(arg->expr));
	plain.text = making_keep(m->args, text);
	return making_add(m, &plain);
}

/* --- $params, $vars -------------------------------------------------------------------- */

struct all {
	struct making *m;
	const struct expand_arg *arg;
	size_t n;
};

/* What has more parts than that, with those of its own parts, is not asked for by $params. */
#define FEW_PARTS 4

/* The parts of struct @name, if they are few: else what it was refused for, @why, is told. */
static int add_few_parts(struct all *all, const char *name, const char *why)
{
	struct making *m = all->m;
	unsigned left = FEW_PARTS;
	struct whole whole = { .m = m,
			       .col = making_col(m, all->arg->expr.s),
			       .expr = name,
			       .name = name,
			       .left = &left };
	size_t n_args = m->args->n, n_left_out = m->left_out->n;
	int rc = whole_add_parts(&whole);

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
	return making_leave_out(m, name, why);
}

static int add_each(void *ctx, const struct dwarf_variable *variable)
{
	struct all *all = ctx;
	struct making *m = all->m;
	struct plain_arg plain = { .col = making_col(m, all->arg->expr.s) };
	const char *name = variable->name;
	struct dwarf_value value;
	struct ubp_err why;
	size_t at;

	if (!name || (all->arg->kind == EXPAND_PARAMETERS && !variable->is_parameter))
		return 0;
	ubp_err_reset(&why);
	if (!variable->has_value)
		return making_leave_out(m, name,
					variable->why_not ? variable->why_not : "no value");
	if (dwarf_value(m->dwarf, m->place, name, strlen(name), NULL, &value, &at, &why) < 0)
		return why.code == ENOTSUP ? add_few_parts(all, name, why.text)
					   : making_leave_out(m, name, why.text);
	plain.name = making_name(m, (struct spec_span){ name, strlen(name) });
	plain.text = making_text(m, &value);
	plain.names = value.names;
	all->n++;
	return making_add(m, &plain);
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
		return expand_at(m->d, making_col(m, arg->word.s), m->err);
	}
	rc = dwarf_each_variable(m->dwarf, m->place, add_each, &all, m->err);
	if (rc == 0 && all.n == 0 && m->left_out->n)
		rc = ubp_fail(m->err, ENODATA,
			      "no %s of %s has a value that can be read here (%s: %s)", what,
			      m->place->function, m->left_out->names[0], m->left_out->why);
	else if (rc == 0 && all.n == 0)
		rc = ubp_fail(m->err, ENODATA, "%s has no %ss",
			      m->place->function ? m->place->function : "this place", what);
	return rc < 0 ? expand_at(m->d, making_col(m, arg->expr.s), m->err) : 0;
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
