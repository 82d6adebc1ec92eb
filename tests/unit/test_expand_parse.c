/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions by source, taken apart. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "engine/define/expand.h"

static void cut(const char *text, struct expand_definition *d)
{
	assert_true(expand_parse(text, strlen(text), false, d));
}

/* "TARGET NAME LINE" of @text, which is one by source. */
static void is_place(const char *text, enum expand_kind kind, const char *target,
		     const char *name, unsigned line)
{
	struct expand_definition d;

	cut(text, &d);
	assert_int_equal(d.kind, kind);
	assert_string_equal(d.target, target);
	assert_string_equal(d.name, name);
	assert_int_equal(d.lineno, line);
	expand_free(&d);
}

static void cuts_places(void **state)
{
	(void)state;
	is_place("p:app:main:12", EXPAND_LINE, "app", "main", 12);
	is_place("app:main:12", EXPAND_LINE, "app", "main", 12);
	is_place("p:app:src/x:12", EXPAND_FILE, "app", "src/x", 12);
	is_place("p:app:x.c:12 a", EXPAND_FILE, "app", "x.c", 12);
	is_place("p:app:f.cold:12", EXPAND_LINE, "app", "f.cold", 12);
	is_place("p:app:f a b", EXPAND_FUNCTION, "app", "f", 0);
}

static void cuts_names_with_colons(void **state)
{
	(void)state;
	is_place("p:app:ns::f:12", EXPAND_LINE, "app", "ns::f", 12);
	is_place("p:app:::f:12", EXPAND_LINE, "app", "::f", 12);
	is_place("p:app:f[abi:cxx11]:12", EXPAND_LINE, "app", "f[abi:cxx11]", 12);
	is_place("p:app:f[abi:cxx11] a", EXPAND_FUNCTION, "app", "f[abi:cxx11]", 0);
	is_place("p:app:\"ns::f(int, char)\" a", EXPAND_FUNCTION, "app", "ns::f(int, char)", 0);
	is_place("p:app:\"ns:f\":12", EXPAND_LINE, "app", "ns:f", 12);
}

static void cuts_names(void **state)
{
	struct expand_definition d;

	(void)state;
	cut("p:grp/evt app:main%return a", &d);
	assert_string_equal(d.group, "grp");
	assert_string_equal(d.event, "evt");
	assert_true(d.probe_kind == PROBE_RETURN);
	assert_string_equal(d.name, "main");
	expand_free(&d);
	cut("p:app:cpp:operator+ x", &d);
	assert_true(d.is_cpp);
	assert_string_equal(d.target, "app");
	assert_string_equal(d.name, "operator+");
	expand_free(&d);
	cut("p:app:main+0x10 x", &d);
	assert_int_equal(d.offset, 0x10);
	assert_string_equal(d.name, "main");
	expand_free(&d);
}

static bool has(struct spec_span span, const char *text)
{
	return span_is(span, text);
}

static void cuts_args(void **state)
{
	struct expand_definition d;

	(void)state;
	cut("p:app:main a=b->c:u8 $vars %di n=$params s[ns::i]", &d);
	assert_int_equal(d.n_args, 5);
	assert_true(d.has_variables && expand_is_source(&d));
	assert_int_equal(d.args[0].kind, EXPAND_VARIABLE);
	assert_true(has(d.args[0].name, "a") && has(d.args[0].expr, "b->c"));
	assert_true(has(d.args[0].type, "u8"));
	assert_int_equal(d.args[1].kind, EXPAND_VARIABLES);
	assert_int_equal(d.args[2].kind, EXPAND_PLAIN);
	assert_int_equal(d.args[3].kind, EXPAND_PARAMETERS);
	assert_int_equal(d.args[4].kind, EXPAND_VARIABLE);
	assert_true(has(d.args[4].expr, "s[ns::i]") && d.args[4].type.len == 0);
	expand_free(&d);
	cut("p:app:main %di", &d);
	assert_false(expand_is_source(&d));
	expand_free(&d);
}

static void leaves_the_rest(void **state)
{
	static const char *const texts[] = { "", "p", "p:", "p:app", "p:app:", "p::main", "#" };
	struct expand_definition d;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(expand_parse(texts[i], strlen(texts[i]), false, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_places),     cmocka_unit_test(cuts_names_with_colons),
		cmocka_unit_test(cuts_names),      cmocka_unit_test(cuts_args),
		cmocka_unit_test(leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
