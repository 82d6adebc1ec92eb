/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A kernel with larger pages: said at once. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/ubp.h"

static long page_len;

/* Stands in for the C library's, which others ask, too: the sanitizers at their start. */
long __sysconf(int name);
long sysconf(int name)
{
	if (name == _SC_PAGESIZE && page_len)
		return page_len;
	return __sysconf(name);
}

static void refuses_other_pages(void **state)
{
	struct ubp_session *session = NULL;
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_err err;

	(void)state;
	page_len = 65536;
	assert_int_equal(ubp_session_new(&options, &session, &err), -ENOTSUP);
	assert_null(session);
	assert_string_equal(err.text,
			    "this kernel has pages of 65536 bytes: ubp works with 4096 alone");
	page_len = 0;
	assert_int_equal(ubp_session_new(&options, &session, &err), 0);
	ubp_session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_other_pages),
	};

	return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
