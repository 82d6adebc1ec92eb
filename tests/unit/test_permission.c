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
#include "engine/trace/permission.h"

/* What is asked with EPERM, and answered with that, but where a case says something else. */
static const struct {
	struct refusal facts;
	const char *with, *without;
	int code, want_code;
} cases[] = {
	{ .facts = { .pid = 7 }, .with = "no process 7", .without = "CAP", .want_code = ESRCH },
	{ .facts = { .pid = 7, .state = 'S' },
	  .with = "no process 7",
	  .without = "CAP",
	  .code = ESRCH,
	  .want_code = ESRCH },
	{ .facts = { .pid = 7, .state = 'Z' },
	  .with = "zombie",
	  .without = "CAP",
	  .want_code = ESRCH },
	{ .facts = { .pid = 7, .state = 'S', .tracer = 8, .tracer_comm = "gdb" },
	  .with = "traced by process 8 (gdb)",
	  .without = "CAP" },
	{ .facts = { .pid = 2, .state = 'I', .is_kernel = true, .is_root = true },
	  .with = "kernel thread",
	  .without = "CAP" },
	{ .facts = { .pid = 7, .state = 'S' }, .with = "as the same user", .without = "yama" },
	{ .facts = { .pid = 7, .state = 'S', .yama = 1 },
	  .with = "as the same user",
	  .without = "yama" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true, .yama = 1 },
	  .with = "kernel.yama.ptrace_scope is 1; run as root (CAP_SYS_PTRACE), or start the "
		  "program as a command of ubp",
	  .without = "same user" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true, .yama = 2 },
	  .with = "kernel.yama.ptrace_scope is 2; run as root (CAP_SYS_PTRACE)",
	  .without = "as a command",
	  .code = EACCES,
	  .want_code = EACCES },
	{ .facts = { .pid = 7, .state = 'S', .is_root = true, .yama = 3 },
	  .with = "forbids all tracing",
	  .without = "CAP" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true, .lacks_caps = true, .yama = 1 },
	  .with = "capabilities",
	  .without = "yama" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true },
	  .with = "dumpable",
	  .without = "yama",
	  .code = EACCES,
	  .want_code = EACCES },
	{ .facts = { .pid = 7, .state = 'S', .is_root = true },
	  .with = "lacks CAP_SYS_PTRACE here",
	  .without = "namespace" },
	{ .facts = { .pid = 7, .state = 'S', .is_root = true, .other_namespace = true },
	  .with = "user namespace",
	  .without = "same user" },
	{ .facts = { .pid = 7, .state = 'S', .is_root = true, .is_allowed = true, .yama = 1 },
	  .with = "a security module",
	  .without = "CAP" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true, .is_allowed = true },
	  .with = "a security module",
	  .without = "dumpable" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true, .is_allowed = true, .yama = 1 },
	  .with = "kernel.yama.ptrace_scope is 1",
	  .without = "security module" },
	{ .facts = { .pid = 7, .state = 'S', .same_user = true },
	  .with = "Too many",
	  .without = "CAP",
	  .code = EMFILE,
	  .want_code = EMFILE },
};

static void explains(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int code = cases[i].code ? cases[i].code : EPERM;
		int want = cases[i].want_code ? cases[i].want_code : EPERM;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(permission_refusal(&cases[i].facts, code, &err), -want);
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
	assert_int_equal(permission_no_ptrace(2, EPERM, &err), -EPERM);
	assert_string_equal(err.text,
			    "no permission to trace any process: "
			    "kernel.yama.ptrace_scope is 2; run as root (CAP_SYS_PTRACE)");
	ubp_err_reset(&err);
	assert_int_equal(permission_no_ptrace(3, EPERM, &err), -EPERM);
	assert_non_null(strstr(err.text, "ptrace_scope is 3, which forbids all tracing"));
	ubp_err_reset(&err);
	assert_int_equal(permission_no_ptrace(1, EPERM, &err), -EPERM);
	assert_non_null(strstr(err.text, "cannot use ptrace at all: "));
	ubp_err_reset(&err);
	assert_int_equal(permission_no_ptrace(3, ENOSYS, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "cannot use ptrace at all: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(explains),
					    cmocka_unit_test(explains_no_ptrace) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
