/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/owner.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/session/state.h"

bool owner_is_other(const struct ubp_session *s)
{
	return s->tracing.was_there && s->tracing.owner != getpid();
}

int owner_check(const struct ubp_session *s, struct ubp_err *err)
{
	if (!owner_is_other(s))
		return 0;
	return ubp_fail(err, ECHILD,
			"the session is that of process %d: a child of it can only forget it",
			(int)s->tracing.owner);
}
