/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours for machines that have no rdfsbase in programs (kernels before 5.9) or no rdtscp (some
 * virtual machines) do all that others do: their tests are run with what every machine has.
 */

#ifdef __x86_64__

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/run_again.h"

static void tests_pass(void **state)
{
	static const char *const tests[] = { "test_x86_detour",  "test_x86_detour_return",
					     "test_detour_time", "test_detour_return",
					     "test_detour_ways", "test_detour_stack" };
	char i386[64];

	(void)state;
	/* Most of it runs in generated code, which no sanitizer sees. */
	if (IS_SANITIZED && !getenv("UBP_ALL"))
		skip();
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		snprintf(i386, sizeof(i386), "%s_i386", tests[i]);
		run_again("UBP_LAB_HAS=0", tests[i]);
		run_again("UBP_LAB_HAS=0", i386);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(tests_pass) };

	return cmocka_run_group_tests_name("x86_plain", tests, NULL, NULL);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
