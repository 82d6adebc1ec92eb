/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* mkdtemp() and mkstemp() put letters of their own in the place of the X. */
static const char template[] = "/tmp/ubp-test-XXXXXX";

_Static_assert(sizeof(template) <= TEMP_LEN, "the path has room");

void temp_folder(char ret_path[TEMP_LEN])
{
	memcpy(ret_path, template, sizeof(template));
	assert_non_null(mkdtemp(ret_path));
}

void temp_file(char ret_path[TEMP_LEN])
{
	int fd;

	memcpy(ret_path, template, sizeof(template));
	fd = mkstemp(ret_path);
	assert_true(fd >= 0);
	close(fd);
}
