/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The text of variables, cut into steps. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/dwarf/var_expr.h"

struct good {
	const char *text, *want; /* the name, then the steps in their order */
};

static const struct good goods[] = {
	{ "n", "n" },
	{ "_x9", "_x9" },
	{ "caf\xc3\xa9", "caf\xc3\xa9" },
	{ "ns::x", "ns::x" },
	{ "::x", "::x" },
	{ "a.b", "a .b" },
	{ "a->b.c", "a >b .c" },
	{ "t.0.1", "t .0 .1" },
	{ "v[3]", "v [3]" },
	{ "v[0x10]", "v [16]" },
	{ "v[-2]", "v [-2]" },
	{ "m[1][2].x", "m [1] [2] .x" },
	{ "*p", "p *" },
	{ "**p", "p * *" },
	{ "*p->q", "p >q *" },
	{ "(*p).q", "p * .q" },
	{ "(*(*p).q)[1]", "p * .q * [1]" },
	{ "((p))", "p" },
	{ "&p->q[1]", "p >q [1] &" },
	{ "*&p", "p & *" },
	{ " a . b ", "a .b" },
	{ "a [ 1 ]", "a [1]" },
	{ "9223372036854775807", NULL },
	{ "v[9223372036854775807]", "v [9223372036854775807]" },
};

static void write_steps(const struct var_expr *e, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "%.*s", (int)e->len, e->name);

	for (size_t i = 0; i < e->n; i++) {
		const struct var_step *s = &e->steps[i];

		switch (s->kind) {
		case VAR_MEMBER:
		case VAR_ARROW:
			len += (size_t)snprintf(text + len, size - len, " %c%.*s",
						s->kind == VAR_MEMBER ? '.' : '>', (int)s->len,
						s->name);
			break;
		case VAR_INDEX:
			len += (size_t)snprintf(text + len, size - len, " [%lld]",
						(long long)s->index);
			break;
		default:
			len += (size_t)snprintf(text + len, size - len, " %c",
						s->kind == VAR_DEREF ? '*' : '&');
		}
	}
}

static void steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(goods) / sizeof(goods[0]); i++) {
		struct var_expr e;
		struct ubp_err err = { 0 };
		char text[256];
		size_t at;
		int rc = var_expr_parse(goods[i].text, strlen(goods[i].text), &e, &at, &err);

		if (!goods[i].want) {
			assert_int_equal(rc, -EINVAL);
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", goods[i].text, err.text);
		write_steps(&e, text, sizeof(text));
		assert_string_equal(text, goods[i].want);
	}
}

struct bad {
	const char *text;
	size_t at; /* where it stops making sense */
};

static const struct bad bads[] = {
	{ "", 0 },
	{ "9x", 0 },
	{ "a.", 2 },
	{ "a->", 3 },
	{ "a..b", 2 },
	{ "a-b", 1 },
	{ "a->[1]", 3 },
	{ "a[", 2 },
	{ "a[]", 2 },
	{ "a[b]", 2 },
	{ "a[1", 3 },
	{ "a[1x]", 3 },
	{ "a[99999999999999999999]", 2 },
	{ "ns::", 4 },
	{ "ns:x", 2 },
	{ "(a", 2 },
	{ "a)", 1 },
	{ "*", 1 },
	{ "a b", 2 },
	{ "a+1", 1 },
	{ "(*p)x", 4 },
};

static void mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		struct var_expr e;
		struct ubp_err err = { 0 };
		size_t at = 99;

		if (var_expr_parse(bads[i].text, strlen(bads[i].text), &e, &at, &err) !=
		    -EINVAL)
			fail_msg("'%s' was taken", bads[i].text);
		if (at != bads[i].at)
			fail_msg("'%s': at %zu, not %zu (%s)", bads[i].text, at, bads[i].at,
				 err.text);
	}
}

/* The text ends where its length says, and too much of a good thing is refused. */
static void limits(void **state)
{
	struct var_expr e;
	struct ubp_err err = { 0 };
	char text[512] = "a";
	size_t at;

	(void)state;
	assert_int_equal(var_expr_parse("abc.d", 3, &e, &at, &err), 0);
	assert_int_equal(e.len, 3);
	assert_int_equal(e.n, 0);
	assert_int_equal(var_expr_parse("a[12]", 4, &e, &at, &err), -EINVAL);
	for (int i = 0; i < VAR_STEPS_MAX; i++)
		strcat(text, ".b");
	assert_int_equal(var_expr_parse(text, strlen(text), &e, &at, &err), 0);
	assert_int_equal(e.n, VAR_STEPS_MAX);
	strcat(text, ".b");
	assert_int_equal(var_expr_parse(text, strlen(text), &e, &at, &err), -E2BIG);
	memset(text, '(', 100);
	strcpy(text + 100, "a");
	assert_int_equal(var_expr_parse(text, strlen(text), &e, &at, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
