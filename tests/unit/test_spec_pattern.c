/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Patterns in definitions: which are taken, what becomes of their matches. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/err.h"
#include "tests/unit/spec_fixture.h"

static struct ubp_err err;

/* The functions of every file. */
static const struct {
	const char *name;
	uint64_t offset;
} functions[] = {
	{ "read", 0x10 },   { "read.part.0", 0x20 }, { "readable", 0x30 },
	{ "static", 0x40 }, { "static", 0x50 },      { "write", 0x60 },
};

static int match(void *ctx, const struct spec_probe *probe,
		 int (*each)(void *each_ctx, const char *symbol, uint64_t offset),
		 void *each_ctx, struct ubp_err *ret_err)
{
	size_t n = 0;
	int rc = 0;

	(void)ctx;
	assert_true(probe->is_pattern);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && rc == 0; i++) {
		if (fnmatch(probe->symbol, functions[i].name, 0) != 0)
			continue;
		rc = each(each_ctx, functions[i].name, functions[i].offset);
		n++;
	}
	return n ? rc : ubp_fail(ret_err, ENOENT, "no match");
}

static struct spec_table *new_table(bool strict)
{
	struct spec_env env = fixture_env(strict);

	env.match = match;
	ubp_err_reset(&err);
	return spec_table_new(&env);
}

static int set_up(void **state)
{
	*state = new_table(false);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	spec_table_free(*state);
	return 0;
}

static void must_write(struct spec_table *table, const char *text)
{
	if (spec_table_write_all(table, text, strlen(text), &err) != 0)
		fail_msg("'%s' was refused: %s", text, err.text);
}

static void must_fail(struct spec_table *table, const char *text, const char *message,
		      unsigned caret)
{
	ubp_err_reset(&err);
	assert_true(spec_table_write_all(table, text, strlen(text), &err) < 0);
	assert_string_equal(err.text, message);
	assert_true(err.has_caret);
	assert_int_equal(err.caret, caret);
	assert_int_equal(spec_table_count(table), 0);
}

static void test_names(void **state)
{
	must_write(*state, "p:libc:read*\n");
	assert_string_equal(fixture_listing(*state),
			    "p:uprobes/read /usr/bin/libc:0x0000000000000010\n"
			    "p:uprobes/read_part_0 /usr/bin/libc:0x0000000000000020\n"
			    "p:uprobes/readable /usr/bin/libc:0x0000000000000030");
}

/* Each function has an event of its own, whatever there is. */
static void test_names_are_unique(void **state)
{
	must_write(*state, "p:uprobes/static /bin/a:0x1\n"
			   "p /bin/a:s*\n"
			   "p /bin/a:s*\n");
	assert_string_equal(fixture_listing(*state),
			    "p:uprobes/static /bin/a:0x0000000000000001\n"
			    "p:uprobes/static_1 /bin/a:0x0000000000000040\n"
			    "p:uprobes/static_2 /bin/a:0x0000000000000050\n"
			    "p:uprobes/static_3 /bin/a:0x0000000000000040\n"
			    "p:uprobes/static_4 /bin/a:0x0000000000000050");
}

static void test_forms(void **state)
{
	must_write(*state, "p:grp/ev /bin/a:w* a=%di:s32 b=%si\n"
			   "p:only/ /bin/a:[!rs]rite*%return v=$retval\n");
	assert_int_equal(spec_table_add_short(*state, "r:x prog:*able", &err), 0);
	assert_int_equal(spec_table_add_short(*state, "prog:rea?able%return", &err), 0);
	assert_string_equal(fixture_listing(*state),
			    "p:grp/ev_write /bin/a:0x0000000000000060 a=%di:s32 b=%si\n"
			    "r:only/write /bin/a:0x0000000000000060 v=$retval\n"
			    "r:uprobes/x_readable /usr/bin/prog:0x0000000000000030\n"
			    "r:uprobes/readable /usr/bin/prog:0x0000000000000030");
}

static void test_lines(void **state)
{
	must_write(*state, "# first\np /bin/a:read*\np /bin/a:write\n");
	assert_int_equal(spec_table_count(*state), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(spec_table_probe(*state, i)->line, i < 3 ? 2 : 3);
	/* Each can be taken back by its own name. */
	must_write(*state, "-:read_part_0\n");
	assert_int_equal(spec_table_count(*state), 3);
	assert_true(spec_table_probe(*state, 0)->serial != spec_table_probe(*state, 1)->serial);
}

static void test_long_names(void **state)
{
	char text[200];

	snprintf(text, sizeof(text), "p:%063d /bin/a:s*\n", 0);
	text[2] = 'x';
	must_write(*state, text);
	assert_int_equal(spec_table_count(*state), 2);
	assert_int_equal(strlen(spec_table_probe(*state, 0)->event), SPEC_NAME_MAX);
	assert_string_not_equal(spec_table_probe(*state, 0)->event,
				spec_table_probe(*state, 1)->event);
}

static void test_refused(void **state)
{
	must_fail(*state, "p:e /bin/a:none*", "no match", 11);
	must_fail(*state, "p:libc:none*", "no match", 7);
	must_fail(*state, "p:e /bin/a:re*+4", "An offset cannot be added to a pattern", 14);
	must_fail(*state, "p:e /bin/a:re[ad", "Invalid pattern: nothing ends the '['", 13);
	must_fail(*state, "p:e /bin/a:re[]", "Invalid pattern: nothing ends the '['", 13);
	must_fail(*state, "p:e /bin/a:re*@V", "A pattern has no version", 14);
	must_fail(*state, "p:e /bin/a:re*]", "Invalid pattern", 14);
	must_fail(*state, "p:e /bin/a:re*-x", "Invalid pattern", 14);
	/* A match that fails takes those before it along. */
	must_fail(*state, "p:e /bin/a:re* =%di", "Argument name is not specified", 15);
	ubp_err_reset(&err);
	assert_true(spec_table_add_short(*state, "p:/bin/a:none*", &err) < 0);
	assert_int_equal(spec_table_count(*state), 0);
}

static void test_strict(void **state)
{
	struct spec_table *table = new_table(true);

	(void)state;
	assert_non_null(table);
	assert_int_equal(spec_table_write(table, "p:e /bin/a:re*", 14, &err), -EINVAL);
	assert_int_equal(spec_table_write(table, "p:e /bin/a:*", 12, &err), -EINVAL);
	spec_table_free(table);
}

/* A host that knows no functions. */
static void test_no_match_function(void **state)
{
	struct spec_env env = fixture_env(false);
	struct spec_table *table = spec_table_new(&env);

	(void)state;
	must_fail(table, "p:e /bin/a:re*", "Patterns are not known here", 11);
	spec_table_free(table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_names_are_unique),
		TEST(test_forms),
		TEST(test_lines),
		TEST(test_long_names),
		TEST(test_refused),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_no_match_function),
	};

	return cmocka_run_group_tests_name("spec_pattern", tests, NULL, NULL);
}
