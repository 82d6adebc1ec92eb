/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Users by name, of /etc/passwd alone: a static program has no modules of the C library that know others. */

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/who.h"

bool who_user(const char *name, uid_t *ret_user)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*ret_user = user->pw_uid;
	if (file)
		(void)fclose(file);
	return user;
}
