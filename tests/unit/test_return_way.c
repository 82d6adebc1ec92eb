/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which way a return is caught, and what the texts of /proc say about it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/space/return_way.h"

static const struct {
	struct return_facts facts;
	enum return_way way;
	const char *why; /* part of it */
} ways[] = {
	{ { 0 }, RETURN_HIJACKED, NULL },
	{ { .is_go = true }, RETURN_AT_RETS, "Go" },
	{ { .hides_unwinder = true }, RETURN_AT_RETS, "no name" },
	{ { .walks_stacks = true }, RETURN_AT_RETS, "walks its own stacks" },
	{ { .takes_return = true }, RETURN_AT_RETS, "off the stack" },
	{ { .uses_return = true }, RETURN_AT_RETS, "who has called it" },
	{ { .cannot_sign = true }, RETURN_AT_RETS, "sign" },
	{ { .shadow_stack = true }, RETURN_AT_RETS, "are guarded" },
	/* Marked, as distributions build everything: what counts is the machine. */
	{ { .wants_shadow_stack = true }, RETURN_HIJACKED, NULL },
	{ { .can_shadow_stack = true }, RETURN_HIJACKED, NULL },
	{ { .wants_shadow_stack = true, .can_shadow_stack = true }, RETURN_AT_RETS, "will be" },
	/* One that switched it on by itself. */
	{ { .shadow_stack = true, .can_shadow_stack = true }, RETURN_AT_RETS, "are guarded" },
	{ { .is_go = true, .shadow_stack = true, .hides_unwinder = true },
	  RETURN_AT_RETS,
	  "Go" },
};

static void test_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *why = "unset";

		assert_int_equal(return_way_of(&ways[i].facts, &why), ways[i].way);
		assert_int_equal(return_way_of(&ways[i].facts, NULL), ways[i].way);
		if (ways[i].why)
			assert_non_null(strstr(why, ways[i].why));
		else
			assert_null(why);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_true(return_way_uses_return("dlsym"));
	assert_true(return_way_uses_return("___dlsym"));
	assert_true(return_way_uses_return("_mcount"));
	assert_false(return_way_uses_return("dlsym2"));
	assert_false(return_way_uses_return("my_dlsym"));
	assert_false(return_way_uses_return("dlsym+0x4"));
	assert_false(return_way_uses_return("dlclose"));
	assert_false(return_way_uses_return("_"));
	assert_false(return_way_uses_return(""));
	assert_false(return_way_uses_return(NULL));
}

static void test_status(void **state)
{
	const struct arch_shadow *shadow = &ubp_arch_by_name("x86_64")->shadow;
	static const struct {
		const char *text;
		bool has;
	} texts[] = {
		{ "Name:\tx\nx86_Thread_features:\tshstk wrss "
		  "\nx86_Thread_features_locked:\t\n",
		  true },
		{ "Name:\tx\nx86_Thread_features:\tshstk\n", true },
		{ "x86_Thread_features:\twrss shstk", true },
		{ "Name:\tx\nx86_Thread_features:\t\nx86_Thread_features_locked:\tshstk \n",
		  false },
		{ "Name:\tx\nx86_Thread_features:\tnoshstk shstk2\n", false },
		{ "Name:\tx86_Thread_features: shstk\n", false },
		{ "Name:\tshstk\nThreads:\t1\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(return_way_tells(texts[i].text, &shadow->in_status),
				 texts[i].has);
}

static bool tells_of_cpu(const char *text)
{
	return return_way_tells(text, &ubp_arch_by_name("x86_64")->shadow.in_cpuinfo);
}

static void test_cpuinfo(void **state)
{
	(void)state;
	assert_true(tells_of_cpu(
		"processor\t: 0\nmodel name\t: x\nflags\t\t: fpu vme user_shstk ibt\nbugs\t\t: "
		"\n"));
	assert_false(tells_of_cpu("processor\t: 0\nflags\t\t: fpu vme shstk "
				  "user_shstk2\nbugs\t\t: user_shstk\n"));
	assert_false(tells_of_cpu("vmx flags\t: user_shstk\n"));
	assert_false(tells_of_cpu(""));
	assert_false(return_way_tells(" a", &ubp_arch_by_name("ppc64el")->shadow.in_cpuinfo));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_cpuinfo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
