/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One fetch arg: [NAME=]EXPR[:TYPE]. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/spec/argument.h"
#include "engine/spec/entry.h"
#include "engine/spec/env.h"
#include "engine/spec/expr.h"
#include "engine/spec/hint.h"
#include "engine/spec/parse.h"
#include "engine/spec/type.h"

/* Bytes of the fixed area: what is left of a page once the kernel took its share. */

static const char *const reserved_names[] = {
	"common_type", "common_flags", "common_preempt_count", "common_pid",
	"common_tgid", "__probe_ip",   "__probe_ret_ip",       "__probe_func",
};

#define N_RESERVED (sizeof(reserved_names) / sizeof(reserved_names[0]))

static bool name_is_used(const struct spec_probe *probe, size_t n_before, const char *name)
{
	for (size_t i = 0; i < N_RESERVED; i++)
		if (strcmp(reserved_names[i], name) == 0)
			return true;
	for (size_t i = 0; i < n_before; i++)
		if (strcmp(probe->args[i].name, name) == 0)
			return true;
	return false;
}

/*
 * The name of an arg that was given none: argN. $duration, and an argument of the function, is called what it is, unless an
 * arg before it has that name.
 */
static void name_auto(const struct spec_parse *p, struct spec_span word,
		      struct spec_probe *probe, size_t i)
{
	const char *colon = span_find(word, ':');
	char *name = probe->args[i].name;
	unsigned argument = p->env->strict ? 0 : spec_argument(word);

	if (colon)
		word = span_until(word, colon);
	if (argument) {
		snprintf(name, SPEC_ARG_NAME_MAX + 1, "arg%u", argument);
		if (!name_is_used(probe, i, name))
			return;
	}
	if (spec_is_duration(p, word) && !name_is_used(probe, i, "duration"))
		snprintf(name, SPEC_ARG_NAME_MAX + 1, "duration");
	else
		snprintf(name, SPEC_ARG_NAME_MAX + 1, "arg%zu", i + 1);
}

/* The NAME= of *word, which keeps what follows, or one that is made up. */
static int parse_arg_name(const struct spec_parse *p, struct spec_span *word,
			  struct spec_probe *probe, size_t i)
{
	const char *equals = span_find(*word, '=');
	size_t col = spec_col(p, word->s);
	char *name = probe->args[i].name;

	if (equals) {
		struct spec_span text = span_until(*word, equals);

		if (text.len > SPEC_ARG_NAME_MAX)
			return spec_fail(p, EINVAL, col, "Argument name is too long");
		if (text.len == 0)
			return spec_fail(p, EINVAL, col, "Argument name is not specified");
		if (!span_is_identifier(text)) {
			(void)spec_fail(
				p, EINVAL, col,
				"Argument name must follow the same rules as C identifiers");
			hint_set(p, text);
			return -EINVAL;
		}
		memcpy(name, text.s, text.len);
		name[text.len] = '\0';
		*word = span_from(*word, equals + 1);
	} else {
		name_auto(p, *word, probe, i);
	}
	if (name_is_used(probe, i, name))
		return spec_fail(p, EINVAL, col, "This argument name is already used");
	return 0;
}

/* $comm and immediate strings are known by their text, and have one type. */
static bool is_text_expr(struct spec_span expr)
{
	return span_is(expr, "$comm") || span_is(expr, "$COMM") || span_starts(expr, "\\\"");
}

static int choose_type(const struct spec_parse *p, const struct spec_body *body, size_t col,
		       struct spec_type *type)
{
	if (body->has_type)
		col += (size_t)(body->type.s - body->all.s);
	if (is_text_expr(body->expr)) {
		if (body->count > 0 || body->len_name.s ||
		    (body->has_type && !span_is(body->type, "string")))
			return spec_fail(p, EINVAL, col,
					 "$comm and immediate-string only accepts string type");
		*type = (struct spec_type){ .format = SPEC_STRING,
					    .is_default = !body->has_type,
					    .size = 4 };
		return 0;
	}
	if (spec_is_duration(p, body->expr) && !body->has_type) {
		*type = (struct spec_type){ .format = SPEC_UNSIGNED,
					    .is_default = true,
					    .size = 8 };
		return 0;
	}
	if (!spec_type_find(body, p->env->strict, type)) {
		(void)spec_fail(p, EINVAL, col, "Unknown type is specified");
		hint_type(p, body->type);
		return -EINVAL;
	}
	if (type->is_dump && !body->len_max && !body->len_name.s)
		return spec_fail(
			p, EINVAL, col,
			"hex needs how many bytes: hex[16], or hex[n] with an argument n");
	type->count = body->count;
	return 0;
}

/* string[n], hex[n]: n is an arg that stands before this one. */
static int find_length(const struct spec_parse *p, const struct spec_body *body, size_t col,
		       const struct spec_probe *probe, struct spec_arg *arg)
{
	const struct spec_span name = body->len_name;
	size_t i = 0, n = (size_t)(arg - probe->args), word_col = col;

	arg->len_max = body->len_max;
	if (!name.s)
		return 0;
	col += (size_t)(name.s - body->all.s);
	while (i < n && !span_is(name, probe->args[i].name))
		i++;
	if (i == n) {
		(void)spec_fail(p, EINVAL, col, "No argument of this name stands before it");
		hint_length(p, word_col, name);
		return -EINVAL;
	}
	if (probe->args[i].type.count || probe->args[i].type.format == SPEC_STRING ||
	    probe->args[i].type.format == SPEC_FLOAT)
		return spec_fail(p, EINVAL, col, "This argument is no number");
	arg->len_arg = (uint16_t)(i + 1);
	return 0;
}

static int fail_slots(struct spec_expr *e)
{
	return spec_fail(e->p, E2BIG, e->col, "Dereference is too much nested");
}

/* Can a value of this type be had from the outermost operation? */
static int check_store(struct spec_expr *e, const struct spec_body *body, size_t type_col)
{
	const struct spec_type *type = &e->arg->type;
	bool needs_slot =
		e->outer == OUTER_VALUE || e->outer == OUTER_IMM || e->outer == OUTER_TEXT;

	if (type->format == SPEC_STRING) {
		if (e->outer == OUTER_VALUE) {
			(void)spec_fail(e->p, EINVAL, type_col,
					"String accepts only memory argument");
			hint_string(e->p, body->expr, span_from(body->all, body->type.s));
			return -EINVAL;
		}
		needs_slot = needs_slot || type->count > 0;
	}
	return needs_slot && !spec_expr_slot(e) ? fail_slots(e) : 0;
}

static int check_array(struct spec_expr *e, size_t type_col)
{
	const struct spec_type *type = &e->arg->type;

	if (type->count == 0)
		return 0;
	if (type->format != SPEC_STRING && e->outer != OUTER_DEREF)
		return spec_fail(e->p, EINVAL, type_col, "String accepts only memory argument");
	return spec_expr_slot(e) ? 0 : fail_slots(e);
}

/* What the kernel does after the expression was read, in its order. */
static int finish_arg(struct spec_expr *e, const struct spec_body *body)
{
	size_t type_col = e->col;
	struct spec_type *type = &e->arg->type;
	int rc;

	if (body->has_type)
		type_col += (size_t)(body->type.s - body->all.s);
	rc = check_store(e, body, type_col);
	if (rc < 0)
		return rc;
	if (!spec_type_bitfield(body, type) || (type->bit_width > 0 && !spec_expr_slot(e)))
		return spec_fail(e->p, EINVAL, type_col, "Invalid bitfield");
	return check_array(e, type_col);
}

/* A register has no such number, and what is kept of an entry has 8 bytes. */
static int check_x87(const struct spec_expr *e, size_t type_col)
{
	const struct spec_arg *arg = e->arg;

	if (!arg->type.is_x87 ||
	    (e->outer == OUTER_DEREF && !arg->type.count && !arg->at_entry))
		return 0;
	return spec_fail(
		e->p, EINVAL, type_col,
		"f80 is read from memory, +0(ADDRESS), one by one, and not by entry()");
}

/* @col: where @text stands in the command, or what it was made of. */
static int parse_body(const struct spec_parse *p, struct spec_span text, size_t col,
		      struct spec_probe *probe, struct spec_arg *arg)
{
	struct spec_expr expr = { .p = p, .arg = arg, .kind = probe->kind };
	struct spec_body body;
	int rc;

	expr.col = col;
	rc = spec_body_cut(p, text, expr.col, &body);
	if (rc < 0)
		return rc;
	rc = choose_type(p, &body, expr.col, &arg->type);
	if (rc < 0)
		return rc;
	rc = find_length(p, &body, expr.col, probe, arg);
	if (rc == 0)
		rc = spec_parse_expr(&expr, body.expr);
	if (rc == 0)
		rc = check_x87(&expr, col + (size_t)(body.type.s - body.all.s));
	if (rc < 0)
		return rc;
	if (arg->at_entry && !spec_entry_keep(probe, (size_t)(arg - probe->args)))
		return spec_fail(p, E2BIG, expr.col,
				 "Too many values of the entry, 8 are kept for each call");
	arg->at = (uint32_t)probe->fixed_size;
	probe->fixed_size += arg->type.size * (arg->type.count > 0 ? arg->type.count : 1u);
	if (probe->fixed_size > SPEC_FIXED_MAX)
		return spec_fail(p, E2BIG, expr.col, "Event too big (too many fields?)");
	return finish_arg(&expr, &body);
}

int spec_parse_arg(const struct spec_parse *p, struct spec_span word, struct spec_probe *probe,
		   size_t i)
{
	struct spec_arg *arg = &probe->args[i];
	size_t col;
	int rc;

	rc = parse_arg_name(p, &word, probe, i);
	if (rc < 0)
		return rc;
	col = spec_col(p, word.s);
	if (word.len > SPEC_ARG_TEXT_MAX)
		return spec_fail(p, E2BIG, col, "Argument expression is too long");
	if (word.len == 0)
		return spec_fail(p, EINVAL, col, "No argument expression");
	if (!p->env->strict && spec_argument(word)) {
		rc = spec_argument_expand(p, probe, word, arg->text);
		if (rc < 0)
			return rc;
		arg->by_number = true;
		word = (struct spec_span){ arg->text, strlen(arg->text) };
		return parse_body(p, word, col, probe, arg);
	}
	memcpy(arg->text, word.s, word.len);
	arg->text[word.len] = '\0';
	return parse_body(p, word, col, probe, arg);
}
