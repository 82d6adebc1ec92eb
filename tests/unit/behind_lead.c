/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/behind_lead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* It stands beside this one. */
void behind_lead(const char *lead, const char *test)
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
	snprintf(command, sizeof(command), "UBP_LAB_LEAD=%s exec %s%s", lead, self, test);
	status = system(command);
	if (status != 0)
		fail_msg("%s behind %s: status 0x%x", test, lead, (unsigned)status);
}
