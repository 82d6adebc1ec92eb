/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * There is no memory when capstone is used for the first time: its N-th allocation fails, or all from that on. What is
 * decoded is right, or refused.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "tests/unit/short_memory.h"

#define AT_MOST 1000

static atomic_int left; /* allocations until one fails; 0: none does */
static bool for_good;
static atomic_bool has_failed;

static bool allocation_fails(const void *caller, size_t len)
{
	(void)caller, (void)len;
	if (left == 0)
		return false;
	if (left > 1) {
		left--;
		return false;
	}
	has_failed = true;
	left = for_good ? 1 : 0;
	return true;
}

/* In a process where nothing is open yet. Exit status 0: right; 1: right, and nothing has failed. */
static int decode_first(int n, bool all)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff, 0xc3
	}; /* mov, ret */
	const struct ubp_arch *arch = ubp_arch_by_name("x86_64");
	struct displaced_insn insn;
	struct ubp_err err;

	left = n;
	for_good = all;
	for (int i = 0; i < 3; i++) {
		int len = arch->insn.len(code, sizeof(code), 0x1000);
		int rc = arch->insn.analyze(code, sizeof(code), 0x1000, &insn, &err);

		if (len != 7 || (rc == 0 && insn.len != 7))
			return 2;
	}
	return has_failed ? 0 : 1;
}

static void check(bool all)
{
	int status = 0, n = 0;

	while (++n < AT_MOST && WEXITSTATUS(status) == 0) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(decode_first(n, all));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
			fail_msg("status %#x at allocation %d", (unsigned)status, n);
	}
	assert_true(n > 3 && n < AT_MOST);
}

static void test_once(void **state)
{
	(void)state;
	check(false);
}

static void test_for_good(void **state)
{
	(void)state;
	check(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
