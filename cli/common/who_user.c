/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Users by name, wherever this machine keeps them. */

#include <pwd.h>

#include "cli/common/who.h"

bool who_user(const char *name, uid_t *ret_user)
{
	const struct passwd *user = getpwnam(name);

	if (user)
		*ret_user = user->pw_uid;
	return user;
}
