/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What of all there is a session is to trace: the public functions. */

#include <errno.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/inside.h"
#include "engine/trace/task.h"
#include "engine/ubp_whom.h"

static int check_all(const struct ubp_session *s, struct ubp_err *err)
{
	int rc = session_check_new(s, err);

	if (rc < 0 || (!s->opt.n_pids && !s->opt.tid && !s->command.argv))
		return rc;
	return ubp_fail(err, EINVAL,
			"processes of a user or a control group are chosen of all, "
			"and others were named");
}

int ubp_only_user(struct ubp_session *s, uid_t user, struct ubp_err *err)
{
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_only_user(s, user, err);
	rc = check_all(s, err);
	if (rc < 0)
		return rc;
	s->newcomer.whom.of_user = true;
	s->newcomer.whom.user = user;
	return 0;
}

int ubp_files_as(struct ubp_session *s, pid_t pid, struct ubp_err *err)
{
	int rc;

	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_files_as(s, pid, err);
	rc = check_all(s, err);
	if (rc < 0)
		return rc;
	if (!task_live_thread(pid))
		return ubp_fail(err, ESRCH, "no process %d", (int)pid);
	s->newcomer.whom.view = pid;
	definitions_see_as(s->defined, pid);
	return 0;
}

int ubp_only_cgroup(struct ubp_session *s, const char *cgroup, struct ubp_err *err)
{
	int rc = ubp_need(cgroup, "control group", err);

	if (rc < 0)
		return rc;
	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_only_cgroup(s, cgroup, err);
	rc = check_all(s, err);
	return rc < 0 ? rc : whom_set_cgroup(&s->newcomer.whom, cgroup, err);
}
