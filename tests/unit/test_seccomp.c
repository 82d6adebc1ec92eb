/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* When a confined target may be made to call the kernel for ubp. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/trace/seccomp.h"

static const struct {
	const char *what;
	struct seccomp_state target, own;
	bool same_namespace, may_suspend;
	enum seccomp_way way;
} cases[] = {
	{ "free", { 0, 0 }, { 0, 0 }, false, false, SECCOMP_FREE },
	{ "free, ubp confined", { 0, 0 }, { 2, 1 }, true, false, SECCOMP_FREE },
	{ "filter, root", { 2, 1 }, { 0, 0 }, true, true, SECCOMP_SUSPEND },
	{ "strict, root", { 1, 0 }, { 0, 0 }, true, true, SECCOMP_SUSPEND },
	{ "filter", { 2, 1 }, { 0, 0 }, true, false, SECCOMP_REFUSE },
	{ "strict", { 1, 0 }, { 0, 0 }, true, false, SECCOMP_REFUSE },
	{ "strict, both", { 1, 0 }, { 1, 0 }, true, false, SECCOMP_REFUSE },
	{ "one container", { 2, 1 }, { 2, 1 }, true, false, SECCOMP_FREE },
	{ "one container, its own filter", { 2, 2 }, { 2, 1 }, true, false, SECCOMP_REFUSE },
	{ "one container, ubp's own filter", { 2, 1 }, { 2, 2 }, true, false, SECCOMP_REFUSE },
	{ "two containers", { 2, 1 }, { 2, 1 }, false, false, SECCOMP_REFUSE },
	{ "number not told", { 2, -1 }, { 2, -1 }, true, false, SECCOMP_REFUSE },
};

static void chooses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (seccomp_choose(&cases[i].target, &cases[i].own, cases[i].same_namespace,
				   cases[i].may_suspend) != cases[i].way)
			fail_msg("%s", cases[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(chooses) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
