/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of C++ and Rust in definitions: how they are cut out, what events are called. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/err.h"
#include "tests/unit/spec_fixture.h"

static struct ubp_err err;
static char asked[256]; /* for what the last look-up was */

/* Two functions of whatever name, unless it is "one"; of patterns, two that differ. */
static int match(void *ctx, const struct spec_probe *probe,
		 int (*each)(void *each_ctx, const char *symbol, uint64_t offset),
		 void *each_ctx, struct ubp_err *ret_err)
{
	bool is_pattern = spec_name_is_pattern(probe->symbol);
	int rc;

	(void)ctx;
	(void)ret_err;
	assert_true(probe->is_pattern);
	snprintf(asked, sizeof(asked), "%s %s +%d%s", probe->path, probe->symbol,
		 (int)probe->symbol_off, probe->is_name ? "" : " pattern");
	rc = each(each_ctx, "ns::Class<int, long>::f", 0x10);
	if (rc == 0 && !strstr(probe->symbol, "one"))
		rc = each(each_ctx, is_pattern ? "ns::~Class" : "ns::Class<int, long>::f",
			  0x20);
	return rc;
}

static int set_up(void **state)
{
	struct spec_env env = fixture_env(false);

	env.match = match;
	ubp_err_reset(&err);
	asked[0] = '\0';
	*state = spec_table_new(&env);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	spec_table_free(*state);
	return 0;
}

/* What is looked for, and whether it is a return probe with that counter. */
static void looks_for(const char *text, const char *want, bool is_return, uint64_t ref)
{
	void *table = NULL;

	for (int is_short = 0; is_short <= 1; is_short++) {
		char line[256];
		const struct spec_probe *probe;
		int rc;

		assert_int_equal(set_up(&table), 0);
		snprintf(line, sizeof(line), is_short ? "p:%s a=%%di" : "p:e %s a=%%di", text);
		rc = is_short ? spec_table_add_short(table, line, &err)
			      : spec_table_write_all(table, line, strlen(line), &err);
		if (rc < 0)
			fail_msg("'%s' was refused: %s", line, err.text);
		assert_string_equal(asked, want);
		probe = spec_table_probe(table, 0);
		assert_int_equal(probe->kind == PROBE_RETURN, is_return);
		assert_int_equal(probe->ref, ref);
		assert_int_equal(probe->n_args, 1);
		spec_table_free(table);
	}
}

static void test_cut(void **state)
{
	(void)state;
	looks_for("/bin/a:ns::f", "/bin/a ns::f +0", false, 0);
	looks_for("/bin/a:cpp:f", "/bin/a f +0", false, 0);
	looks_for("/bin/a:cpp:ns::f", "/bin/a ns::f +0", false, 0);
	looks_for("/bin/a:::f", "/bin/a ::f +0", false, 0);
	looks_for("/bin/a:b:ns::f", "/bin/a:b ns::f +0", false, 0);
	looks_for("/bin/a:cpp:\"f(int, a::b)\"", "/bin/a f(int, a::b) +0", false, 0);
	looks_for("/bin/a:\"f(int, char*)\"", "/bin/a f(int, char*) +0", false, 0);
	looks_for("/bin/a:\"f(int)\"@x.cc+0x10", "/bin/a f(int)@x.cc +16", false, 0);
	looks_for("/bin/a:ns::f(int,a::b)+8", "/bin/a ns::f(int,a::b) +8", false, 0);
	looks_for("/bin/a:ns::f(int)(0x40)", "/bin/a ns::f(int) +0", false, 0x40);
	looks_for("/bin/a:ns::f(int)%return(64)", "/bin/a ns::f(int) +0", true, 64);
	looks_for("/bin/a:\"f(x y)\"%return", "/bin/a f(x y) +0", true, 0);
	looks_for("/bin/a:\"f(x y)\"(1)", "/bin/a f(x y) +0", false, 1);
	looks_for("/bin/a:ns::f[abi:cxx11]", "/bin/a ns::f[abi:cxx11] +0", false, 0);
	looks_for("/bin/a:ns::operator+", "/bin/a ns::operator+ +0", false, 0);
	looks_for("/bin/a:ns::operator()(int)", "/bin/a ns::operator()(int) +0", false, 0);
	looks_for("/bin/a:ns::{lambda(int)1}::f", "/bin/a ns::{lambda(int)1}::f +0", false, 0);
	looks_for("/bin/a:\"ns::{lambda()#1}::f\"", "/bin/a ns::{lambda()#1}::f +0", false, 0);
	looks_for("/bin/a:f@*", "/bin/a f@* +0", false, 0);
	looks_for("/bin/a:ns::*", "/bin/a ns::* +0", false, 0);
	looks_for("/bin/a:f*", "/bin/a f* +0 pattern", false, 0);
}

/* What has always been something else. */
static void test_not_cut(void **state)
{
	spec_table_write_all(*state, "p:e /bin/a::0x10", 16, &err);
	assert_string_equal(fixture_listing(*state), "p:uprobes/e /bin/a::0x0000000000000010");
	assert_string_equal(asked, "");
	spec_table_write_all(*state, "p:f /bin/a:f@V+4 s=+0(%di):string", 33, &err);
	assert_string_equal(asked, "");
	assert_int_equal(spec_table_count(*state), 2);
}

static void test_events(void **state)
{
	assert_int_equal(spec_table_add_short(*state, "p:/bin/a:ns::f", &err), 0);
	/* All of one name are one event, a given one too; of a pattern each has its own. */
	assert_int_equal(spec_table_add_short(*state, "p:my /bin/a:ns::f", &err), 0);
	assert_int_equal(spec_table_add_short(*state, "p:pat /bin/a:ns::*", &err), 0);
	assert_int_equal(spec_table_add_short(*state, "p:/bin/a:ns::one+4", &err), 0);
	/* What can't join has a number. */
	assert_int_equal(spec_table_add_short(*state, "p:/bin/a:ns::one x=%di", &err), 0);
	assert_string_equal(fixture_listing(*state),
			    "p:uprobes/ns_Class_int_long_f /bin/a:0x0000000000000010\n"
			    "p:uprobes/ns_Class_int_long_f /bin/a:0x0000000000000020\n"
			    "p:uprobes/my /bin/a:0x0000000000000010\n"
			    "p:uprobes/my /bin/a:0x0000000000000020\n"
			    "p:uprobes/pat_ns_Class_int_long_f /bin/a:0x0000000000000010\n"
			    "p:uprobes/pat_ns_Class /bin/a:0x0000000000000020\n"
			    "p:uprobes/ns_Class_int_long_f_0x4 /bin/a:0x0000000000000014\n"
			    "p:uprobes/ns_Class_int_long_f_1 /bin/a:0x0000000000000010 x=%di");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
		unsigned caret;
	} bad[] = {
		{ "p:e /bin/a:cpp:", "No offset or symbol behind the last ':'", 15 },
		{ "p:e /bin/a:\"\"", "No name is specified", 11 },
		{ "p:e /bin/a:\"f(int)\"x", "Invalid behind a name in quotes", 19 },
		{ "p:e /bin/a:\"f(int)\"(0x", "Reference counter brace is not closed", 22 },
		{ "p:e /bin/a:f(int)",
		  "Invalid reference counter offset (a C++ function? then cpp:f(int))", 13 },
		{ "p:e /bin/a:net.(*conn).Read",
		  "Reference counter has wrong suffix (a function's name? then in quotes of "
		  "its "
		  "own: \"net.(*conn).Read\")",
		  22 },
		{ "p:e /bin/a:0x1(2)x", "Reference counter has wrong suffix", 17 },
		{ "p:e /bin/a:f(0x1g)", "Invalid reference counter offset", 13 },
		{ "p:e /bin/a:0x1(int)", "Invalid reference counter offset", 15 },
		{ "p:e /bin/a:ns::f\"x", "Invalid symbol name", 16 },
		{ "p:e /bin/a:f@x*", "A pattern has no version", 12 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ubp_err_reset(&err);
		assert_true(spec_table_write_all(*state, bad[i].text, strlen(bad[i].text),
						 &err) < 0);
		assert_string_equal(err.text, bad[i].message);
		assert_true(err.has_caret);
		assert_int_equal(err.caret, bad[i].caret);
	}
	assert_int_equal(spec_table_count(*state), 0);
}

/* The kernel knows no quotes: words end at blanks, '#' begins a comment. */
static void test_strict(void **state)
{
	static const char *const bad[] = { "p:e /bin/a:ns::f", "p:e /bin/a:cpp:f",
					   "p:e /bin/a:\"f(int, b)\"" };
	struct spec_env env = fixture_env(true);
	struct spec_table *table;

	(void)state;
	env.match = match;
	table = spec_table_new(&env);
	assert_non_null(table);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(spec_table_write(table, bad[i], strlen(bad[i]), &err),
				 -EINVAL);
	assert_int_equal(spec_table_write(table, "p:e /bin/a:\"x y\":0x1", 20, &err), -EINVAL);
	spec_table_free(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut), TEST(test_not_cut), TEST(test_events),
		TEST(test_refused),         TEST(test_strict),
	};

	return cmocka_run_group_tests_name("spec_names", tests, NULL, NULL);
}
