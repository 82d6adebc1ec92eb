/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/expr.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/num.h"
#include "engine/spec/argument.h"
#include "engine/spec/chars.h"
#include "engine/spec/env.h"
#include "engine/spec/hint.h"

/*
 * Carets. The kernel moves its column forward at each dereference and does not
 * move it back, so mistakes that it finds late are shown inside the outermost
 * dereference. And it counts from a copy of the text that it has shortened: one
 * too few for a 'u', one too few for "+-". All of that is done here too.
 */

/* Highest N of $argN: words in the kernel's stack. */
#define ARG_NUMBER_MAX 2048

static int fail_expr(const struct spec_expr *e, int code, const char *text)
{
	return spec_fail(e->p, code, e->col, text);
}

bool spec_expr_slot(struct spec_expr *e)
{
	if (e->n_slots == SPEC_SLOTS_MAX)
		return false;
	e->n_slots++;
	return true;
}

static int push_deref(struct spec_expr *e, int32_t offset)
{
	/* One slot is the source's, so that there is always room for the offset. */
	if (!spec_expr_slot(e))
		return fail_expr(e, EINVAL, "Dereference is too much nested");
	e->arg->deref[e->arg->n_derefs++] = offset;
	return 0;
}

static int set_source(struct spec_expr *e, enum spec_source source, uint16_t reg,
		      uint64_t value)
{
	e->arg->source = source;
	e->arg->reg = reg;
	e->arg->value = value;
	e->outer = OUTER_VALUE;
	if (source == SPEC_IMM)
		e->outer = OUTER_IMM;
	else if (source == SPEC_COMM || source == SPEC_IMM_STRING)
		e->outer = OUTER_TEXT;
	return 0;
}

/* The kernel has $argN on no uprobe; only the reason differs. (The extended grammar's: argument.h) */
static int parse_arg_number(struct spec_expr *e, struct spec_span number)
{
	uint64_t n;

	if (num_u64(number.s, number.len, 10, &n) < 0)
		return fail_expr(e, EINVAL, "Invalid $-variable specified");
	if (n == 0 || n > ARG_NUMBER_MAX) {
		(void)fail_expr(e, EINVAL, "Invalid argument number");
		hint_argument(e->p, number);
		return -EINVAL;
	}
	return fail_expr(e, EINVAL, "$arg* can be used only on function entry or exit");
}

bool spec_is_duration(const struct spec_parse *p, struct spec_span expr)
{
	return !p->env->strict && span_is(expr, "$duration");
}

static int parse_variable(struct spec_expr *e, struct spec_span text)
{
	const struct ubp_arch *arch = e->p->arch;
	struct spec_span name = span_from(text, text.s + 1);
	uint64_t n;

	if (span_starts(name, "retval")) {
		if (e->kind != PROBE_RETURN) {
			(void)fail_expr(e, EINVAL, "$retval is not available on probe");
			hint_retval(e->p);
			return -EINVAL;
		}
		return set_source(e, SPEC_RETVAL, arch->reg.retval, 0);
	}
	if (spec_is_duration(e->p, text)) {
		if (e->kind != PROBE_RETURN)
			return fail_expr(e, EINVAL,
					 "$duration is known only where a function returns "
					 "(r:... or %return)");
		return set_source(e, SPEC_DURATION, 0, 0);
	}
	if (span_is(name, "stack"))
		return set_source(e, SPEC_REG, arch->reg.sp, 0);
	if (span_starts(name, "stack") && char_is_digit(span_at(name, 5)) &&
	    num_u64(name.s + 5, name.len - 5, 10, &n) == 0)
		return set_source(e, SPEC_STACK, 0, (uint32_t)n);
	if (span_is(name, "comm") || span_is(name, "COMM"))
		return set_source(e, SPEC_COMM, 0, 0);
	if (span_starts(name, "arg"))
		return parse_arg_number(e, span_from(name, name.s + 3));
	(void)fail_expr(e, EINVAL, "Invalid $-variable specified");
	hint_variable(e->p, name);
	return -EINVAL;
}

int spec_register(const struct spec_parse *p, struct spec_span name)
{
	const struct ubp_arch *arch = p->arch;
	int reg = arch->reg.by_name(name.s, name.len);

	if (reg < 0 && !p->env->strict && arch->reg.more_by_name)
		reg = arch->reg.more_by_name(name.s, name.len);
	return reg;
}

static int parse_register(struct spec_expr *e, struct spec_span text)
{
	int reg = spec_register(e->p, span_from(text, text.s + 1));

	if (reg < 0 && !e->p->env->strict && spec_is_sum(text)) {
		set_source(e, SPEC_REG, SPEC_NO_REG, 0);
		return spec_parse_sum(e, text);
	}
	if (reg < 0) {
		(void)fail_expr(e, EINVAL, "Invalid register name");
		hint_register(e->p, span_from(text, text.s + 1));
		return -EINVAL;
	}
	return set_source(e, SPEC_REG, (uint16_t)reg, 0);
}

static int parse_memory(struct spec_expr *e, struct spec_span text)
{
	uint64_t vaddr;
	int64_t offset;
	int rc;

	if (char_is_digit(span_at(text, 1))) {
		rc = num_u64(text.s + 1, text.len - 1, 0, &vaddr);
		if (rc < 0)
			return fail_expr(e, -rc, "Invalid memory address");
		set_source(e, SPEC_IMM, 0, vaddr);
	} else if (span_at(text, 1) == '+') {
		rc = num_s64(text.s + 2, text.len - 2, &offset);
		if (rc < 0)
			return fail_expr(e, -rc, "Invalid file offset value");
		set_source(e, SPEC_FOFF, 0, (uint64_t)offset);
	} else {
		return fail_expr(e, EINVAL, "Symbol is not available with uprobe");
	}
	e->outer = OUTER_DEREF;
	return push_deref(e, 0);
}

static int parse_immediate(struct spec_expr *e, struct spec_span text)
{
	struct spec_span number = span_from(text, text.s + 1);
	uint64_t value = 0;
	int64_t svalue = 0;
	int rc = -EINVAL;

	if (span_at(number, 0) == '"') {
		if (number.len < 2 || number.s[number.len - 1] != '"')
			return spec_fail(e->p, EINVAL, e->col + text.len,
					 "String is not closed with '\"'");
		return set_source(e, SPEC_IMM_STRING, 0, 0);
	}
	if (char_is_digit(span_at(number, 0))) {
		rc = num_u64(number.s, number.len, 0, &value);
	} else if (span_at(number, 0) == '-' || span_at(number, 0) == '+') {
		/* A '+' may be followed by another sign. */
		if (number.s[0] == '+')
			number = span_from(number, number.s + 1);
		rc = num_s64(number.s, number.len, &svalue);
		value = (uint64_t)svalue;
	}
	if (rc < 0)
		return spec_fail(e->p, -rc, e->col + 1, "Invalid immediate value");
	return set_source(e, SPEC_IMM, 0, value);
}

/* The number between sign and brace; the sign '+' adds nothing to it. */
static int parse_offset(char sign, struct spec_span number, int64_t *ret)
{
	char text[1 + SPEC_ARG_TEXT_MAX];

	if (sign == '+')
		return num_s64(number.s, number.len, ret);
	text[0] = '-';
	memcpy(text + 1, number.s, number.len);
	return num_s64(text, number.len + 1, ret);
}

/* +|-[u]OFFS(EXPR) */
static int parse_deref(struct spec_expr *e, struct spec_span text)
{
	bool is_user = span_at(text, 1) == 'u';
	char sign = text.s[0];
	struct spec_span number = span_from(text, text.s + (is_user ? 2 : 1)), inner;
	const char *open = span_find(number, '('), *close;
	int64_t offset = 0;
	size_t col;
	int rc;

	if (!open)
		return fail_expr(e, EINVAL, "Dereference needs a brace");
	inner = span_from(number, open + 1);
	number = span_until(number, open);
	rc = parse_offset(sign, number, &offset);
	if (rc < 0)
		return fail_expr(e, -rc, "Invalid dereference offset");
	e->col += number.len + 2;
	if (sign == '+' && span_at(number, 0) == '-')
		e->col--;
	/* What follows the last brace is ignored, as in the kernel. */
	close = span_rfind(inner, ')');
	if (!close)
		return spec_fail(e->p, EINVAL, e->col + inner.len,
				 "Dereference brace is not closed");
	col = e->col;
	rc = spec_parse_nested(e, span_until(inner, close));
	if (rc < 0)
		return rc;
	e->col = col;
	if (e->outer == OUTER_TEXT)
		return fail_expr(e, EINVAL, "$comm can not be dereferenced");
	if (e->arg->source == SPEC_DURATION)
		return fail_expr(e, EINVAL, "$duration can not be dereferenced");
	e->outer = is_user ? OUTER_USER_DEREF : OUTER_DEREF;
	/* The kernel keeps 32 bits of it, with their sign. */
	return push_deref(e, (int32_t)(uint32_t)(uint64_t)offset);
}

int spec_parse_nested(struct spec_expr *e, struct spec_span text)
{
	char first = span_at(text, 0);

	switch (first) {
	case '$':
		return parse_variable(e, text);
	case '%':
		return parse_register(e, text);
	case '@':
		return parse_memory(e, text);
	case '+':
	case '-':
		return parse_deref(e, text);
	case '\\':
		return parse_immediate(e, text);
	case '(':
		return fail_expr(e, EOPNOTSUPP, "BTF is not available or not supported");
	default:
		if (!e->p->env->strict && spec_is_entry(text))
			return spec_parse_entry(e, text);
		if (char_is_alpha(first) || first == '_')
			return fail_expr(e, EINVAL, "BTF is not available or not supported");
		(void)fail_expr(e, EINVAL, "Invalid fetch argument");
		hint_number(e->p, text);
		return -EINVAL;
	}
}

/* A floating-point number is not returned where the kernel's $retval is. */
static int find_float(struct spec_expr *e)
{
	if (!e->p->arch->reg.returns_in_vector)
		return fail_expr(e, EINVAL,
				 "A floating-point number is returned where no probe reads");
	return set_source(e, SPEC_REG, SPEC_REG_VECTOR, 0);
}

int spec_parse_expr(struct spec_expr *e, struct spec_span text)
{
	int rc;

	e->n_slots = 1;
	e->arg->n_derefs = 0;
	rc = spec_parse_nested(e, text);
	return rc == 0 && e->arg->source == SPEC_RETVAL && !e->arg->n_derefs &&
			       e->arg->type.format == SPEC_FLOAT
		       ? find_float(e)
		       : rc;
}
