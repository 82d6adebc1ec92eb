/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/limit.h"

#include <sys/resource.h>

#include "engine/session/state.h"

void descriptor_limit_raise(struct ubp_session *s)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	s->command.inherited.nofile = limit;
	limit.rlim_cur = limit.rlim_max;
	s->command.limit_raised = s->command.inherited.nofile.rlim_cur != limit.rlim_cur &&
				  setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void descriptor_limit_lower(struct ubp_session *s)
{
	struct rlimit limit;

	if (s->command.limit_raised && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur == limit.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &s->command.inherited.nofile);
	s->command.limit_raised = false;
}
