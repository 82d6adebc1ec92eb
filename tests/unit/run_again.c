/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/run_again.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

/* It stands beside this one. */
void run_again(const char *variable, const char *test)
{
	char self[4096] = "", command[sizeof(self) + 128];
	FILE *f = fopen("/proc/self/cmdline", "r");
	char *slash;
	int status;

	assert_non_null(f);
	assert_true(fread(self, 1, sizeof(self) - 1, f) > 0);
	fclose(f);
	slash = strrchr(self, '/');
	assert_non_null(slash);
	slash[1] = '\0';
	snprintf(command, sizeof(command), "%s exec %s%s", variable, self, test);
	status = system(command);
	if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 77))
		fail_msg("%s with %s: status 0x%x", test, variable, (unsigned)status);
}
