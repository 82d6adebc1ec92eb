/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Spare descriptors: all of them or none, and all of them back. */

#include "engine/base/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The lowest number that is free. */
static int next_fd(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void keeps_and_gives_back(void **state)
{
	struct spare spare = { .is_kept = false };
	int first = next_fd();

	(void)state;
	assert_true(spare_keep(&spare));
	assert_int_equal(next_fd(), first + SPARE_N);
	assert_true(spare_keep(&spare)); /* it has them */
	assert_int_equal(next_fd(), first + SPARE_N);
	spare_use(&spare);
	assert_int_equal(next_fd(), first);
	spare_use(&spare);
	assert_int_equal(next_fd(), first);
}

static void keeps_none_where_one_is_missing(void **state)
{
	struct spare spare = { .is_kept = false };
	struct rlimit old, limit;
	int first = next_fd();

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = (struct rlimit){ (rlim_t)first + SPARE_N - 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(spare_keep(&spare));
	assert_int_equal(errno, EMFILE);
	assert_false(spare.is_kept);
	assert_int_equal(next_fd(), first);
	limit.rlim_cur++;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(spare_keep(&spare));
	spare_use(&spare);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_and_gives_back),
		cmocka_unit_test(keeps_none_where_one_is_missing),
	};

	closefrom(STDERR_FILENO + 1); /* numbers are counted */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
