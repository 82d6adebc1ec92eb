/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Why a process may not be traced, in words: what is missing is named. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/trace/task.h"

static const struct {
	struct refusal facts;
	int code, want_code;
	const char *with, *without;
} cases[] = {
	{ { .pid = 7 }, EPERM, ESRCH, "no process 7", "CAP" },
	{ { .pid = 7, .state = 'S' }, ESRCH, ESRCH, "no process 7", "CAP" },
	{ { .pid = 7, .state = 'Z' }, EPERM, ESRCH, "zombie", "CAP" },
	{ { .pid = 7, .state = 'S', .tracer = 8, .tracer_comm = "gdb" },
	  EPERM,
	  EPERM,
	  "traced by process 8 (gdb)",
	  "CAP" },
	{ { .pid = 2, .state = 'I', .is_kernel = true, .is_root = true },
	  EPERM,
	  EPERM,
	  "kernel thread",
	  "CAP" },
	{ { .pid = 7, .state = 'S' }, EPERM, EPERM, "as the same user", "yama" },
	{ { .pid = 7, .state = 'S', .yama = 1 }, EPERM, EPERM, "as the same user", "yama" },
	{ { .pid = 7, .state = 'S', .same_user = true, .yama = 1 },
	  EPERM,
	  EPERM,
	  "kernel.yama.ptrace_scope is 1; run as root (CAP_SYS_PTRACE), or start the program "
	  "as "
	  "a command of ubp",
	  "same user" },
	{ { .pid = 7, .state = 'S', .same_user = true, .yama = 2 },
	  EACCES,
	  EACCES,
	  "kernel.yama.ptrace_scope is 2; run as root (CAP_SYS_PTRACE)",
	  "as a command" },
	{ { .pid = 7, .state = 'S', .is_root = true, .yama = 3 },
	  EPERM,
	  EPERM,
	  "forbids all tracing",
	  "CAP" },
	{ { .pid = 7, .state = 'S', .same_user = true, .lacks_caps = true, .yama = 1 },
	  EPERM,
	  EPERM,
	  "capabilities",
	  "yama" },
	{ { .pid = 7, .state = 'S', .same_user = true }, EACCES, EACCES, "dumpable", "yama" },
	{ { .pid = 7, .state = 'S', .is_root = true },
	  EPERM,
	  EPERM,
	  "lacks CAP_SYS_PTRACE here",
	  "namespace" },
	{ { .pid = 7, .state = 'S', .is_root = true, .other_namespace = true },
	  EPERM,
	  EPERM,
	  "user namespace",
	  "same user" },
	{ { .pid = 7, .state = 'S', .is_root = true, .is_allowed = true, .yama = 1 },
	  EPERM,
	  EPERM,
	  "a security module",
	  "CAP" },
	{ { .pid = 7, .state = 'S', .same_user = true, .is_allowed = true },
	  EPERM,
	  EPERM,
	  "a security module",
	  "dumpable" },
	{ { .pid = 7, .state = 'S', .same_user = true, .is_allowed = true, .yama = 1 },
	  EPERM,
	  EPERM,
	  "kernel.yama.ptrace_scope is 1",
	  "security module" },
	{ { .pid = 7, .state = 'S', .same_user = true }, EMFILE, EMFILE, "Too many", "CAP" },
};

static void explains(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(task_refusal(&cases[i].facts, cases[i].code, &err),
				 -cases[i].want_code);
		if (!strstr(err.text, cases[i].with) || strstr(err.text, cases[i].without))
			fail_msg("case %zu: %s", i, err.text);
	}
}

/* Not even a child can be traced: Yama, or something else that we cannot name. */
static void explains_no_ptrace(void **state)
{
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(task_no_ptrace(2, EPERM, &err), -EPERM);
	assert_string_equal(err.text,
			    "no permission to trace any process: "
			    "kernel.yama.ptrace_scope is 2; run as root (CAP_SYS_PTRACE)");
	ubp_err_reset(&err);
	assert_int_equal(task_no_ptrace(3, EPERM, &err), -EPERM);
	assert_non_null(strstr(err.text, "ptrace_scope is 3, which forbids all tracing"));
	ubp_err_reset(&err);
	assert_int_equal(task_no_ptrace(1, EPERM, &err), -EPERM);
	assert_non_null(strstr(err.text, "cannot use ptrace at all: "));
	ubp_err_reset(&err);
	assert_int_equal(task_no_ptrace(3, ENOSYS, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "cannot use ptrace at all: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(explains),
					    cmocka_unit_test(explains_no_ptrace) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
