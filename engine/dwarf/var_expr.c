/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/var_expr.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "engine/base/err.h"

/* Signs and parentheses in front of a name. */
#define PREFIX_MAX 32

struct parser {
	const char *text;
	size_t len, at;
	struct var_expr *expr;
	struct ubp_err *err;
};

static int peek(const struct parser *p, size_t ahead)
{
	return p->at + ahead < p->len ? (unsigned char)p->text[p->at + ahead] : 0;
}

static void blanks(struct parser *p)
{
	while (peek(p, 0) == ' ')
		p->at++;
}

static int bad(struct parser *p, const char *what)
{
	return ubp_fail(p->err, EINVAL, "Invalid variable: %s", what);
}

static bool is_name(int c, bool first)
{
	return isalpha(c) || c == '_' || c >= 0x80 || (!first && isdigit(c));
}

static size_t name_len(struct parser *p)
{
	size_t n = 0;

	while (is_name(peek(p, n), n == 0))
		n++;
	return n;
}

static struct var_step *add(struct parser *p, enum var_step_kind kind)
{
	struct var_step *step = &p->expr->steps[p->expr->n];

	if (p->expr->n == VAR_STEPS_MAX) {
		ubp_fail(p->err, E2BIG, "Invalid variable: more than %d steps", VAR_STEPS_MAX);
		return NULL;
	}
	p->expr->n++;
	*step = (struct var_step){ .kind = kind, .at = p->at };
	return step;
}

/* NAME, NAME::NAME, ::NAME. */
static int parse_name(struct parser *p)
{
	size_t n;

	p->expr->at = p->at;
	if (peek(p, 0) == ':' && peek(p, 1) == ':')
		p->at += 2;
	for (;;) {
		n = name_len(p);
		if (n == 0)
			return bad(p, "a name must stand here");
		p->at += n;
		if (peek(p, 0) != ':' || peek(p, 1) != ':')
			break;
		p->at += 2;
	}
	p->expr->name = p->text + p->expr->at;
	p->expr->len = p->at - p->expr->at;
	return 0;
}

/* After "." and "->"; members of Rust's tuples are numbers. */
static int parse_member(struct parser *p, enum var_step_kind kind)
{
	struct var_step *step;
	size_t n = 0;

	blanks(p);
	step = add(p, kind);
	if (!step)
		return -E2BIG;
	if (isdigit(peek(p, 0)))
		while (isdigit(peek(p, n)))
			n++;
	else
		n = name_len(p);
	if (n == 0)
		return bad(p, "a member's name must stand here");
	step->name = p->text + p->at;
	step->len = n;
	p->at += n;
	return 0;
}

static int digit_of(int c)
{
	if (isdigit(c))
		return c - '0';
	return isxdigit(c) ? tolower(c) - 'a' + 10 : 16;
}

static int parse_number(struct parser *p, int64_t *ret_value)
{
	bool is_negative = peek(p, 0) == '-';
	size_t start = p->at;
	int64_t value = 0;
	int base = 10;

	p->at += is_negative;
	if (peek(p, 0) == '0' && tolower(peek(p, 1)) == 'x' && isxdigit(peek(p, 2))) {
		base = 16;
		p->at += 2;
	}
	if (digit_of(peek(p, 0)) >= base)
		return bad(p, "an element is chosen by a number");
	for (; digit_of(peek(p, 0)) < base; p->at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_of(peek(p, 0)), &value)) {
			p->at = start;
			return bad(p, "the number is too big");
		}
	*ret_value = is_negative ? -value : value;
	return 0;
}

/* Behind "[". */
static int parse_index(struct parser *p)
{
	struct var_step *step;
	int rc;

	blanks(p);
	step = add(p, VAR_INDEX);
	if (!step)
		return -E2BIG;
	rc = parse_number(p, &step->index);
	if (rc < 0)
		return rc;
	blanks(p);
	if (peek(p, 0) != ']')
		return bad(p, "']' must stand here");
	p->at++;
	return 0;
}

static int parse_postfix(struct parser *p)
{
	int rc = 0;

	while (rc == 0) {
		blanks(p);
		if (peek(p, 0) == '.') {
			p->at++;
			rc = parse_member(p, VAR_MEMBER);
		} else if (peek(p, 0) == '-' && peek(p, 1) == '>') {
			p->at += 2;
			rc = parse_member(p, VAR_ARROW);
		} else if (peek(p, 0) == '[') {
			p->at++;
			rc = parse_index(p);
		} else {
			return 0;
		}
	}
	return rc;
}

/* A sign before what has been parsed; it stood at @at. */
static int add_sign(struct parser *p, size_t at)
{
	struct var_step *step = add(p, p->text[at] == '*' ? VAR_DEREF : VAR_ADDRESS);

	if (!step)
		return -E2BIG;
	step->at = at;
	return 0;
}

/* Takes back the prefixes from the top: signs up to, and with @paren, an opening parenthesis. */
static int close_prefixes(struct parser *p, const size_t *stack, size_t *n, bool paren)
{
	int rc = 0;

	while (rc == 0 && *n > 0) {
		size_t at = stack[*n - 1];

		if (p->text[at] == '(') {
			*n -= paren;
			return paren ? 0 : bad(p, "')' is missing");
		}
		rc = add_sign(p, at);
		--*n;
	}
	return rc < 0 || !paren ? rc : bad(p, "there is no '(' for it");
}

static int parse(struct parser *p)
{
	size_t stack[PREFIX_MAX], n = 0;
	int rc;

	for (blanks(p); peek(p, 0) && strchr("*&(", peek(p, 0)); p->at++, blanks(p)) {
		if (n == PREFIX_MAX)
			return bad(p, "too much nested");
		stack[n++] = p->at;
	}
	rc = parse_name(p);
	if (rc == 0)
		rc = parse_postfix(p);
	while (rc == 0 && peek(p, 0) == ')') {
		rc = close_prefixes(p, stack, &n, true);
		if (rc < 0)
			break;
		p->at++;
		rc = parse_postfix(p);
	}
	if (rc == 0 && p->at < p->len)
		return bad(p, "it should have ended here");
	return rc < 0 ? rc : close_prefixes(p, stack, &n, false);
}

int var_expr_parse(const char *text, size_t len, struct var_expr *ret_expr, size_t *ret_at,
		   struct ubp_err *err)
{
	struct parser p = { .text = text, .len = len, .expr = ret_expr, .err = err };
	int rc;

	ret_expr->n = 0;
	rc = parse(&p);
	*ret_at = p.at < len ? p.at : len;
	return rc;
}
