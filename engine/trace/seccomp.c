/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/seccomp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

enum seccomp_way seccomp_choose(const struct seccomp_state *target,
				const struct seccomp_state *own, bool same_namespace,
				bool may_suspend)
{
	if (target->mode == 0)
		return SECCOMP_FREE;
	if (may_suspend)
		return SECCOMP_SUSPEND;
	/* Filters are inherited and only ever added to: as many in the same container
	 * are the same ones. ubp maps memory and sets handlers under them, so may it. */
	if (target->mode == 2 && own->mode == 2 && same_namespace && target->n_filters > 0 &&
	    target->n_filters == own->n_filters)
		return SECCOMP_FREE;
	return SECCOMP_REFUSE;
}

static int set_options(const struct tracee *t, unsigned long more)
{
	return again_ptrace(PTRACE_SETOPTIONS, t->tid, 0, t->options | more) < 0 ? -errno : 0;
}

int seccomp_suspend(struct tracee *t)
{
	int rc = set_options(t, PTRACE_O_SUSPEND_SECCOMP);

	t->no_seccomp = rc == 0;
	return rc;
}

void seccomp_restore(struct tracee *t)
{
	if (!t->no_seccomp)
		return;
	t->no_seccomp = false;
	(void)set_options(t, 0);
}

int seccomp_check(const struct tracee *t, enum seccomp_way *ret_way, struct ubp_err *err)
{
	char *status = proc_read_status(t->tid);
	int rc = seccomp_check_status(t, status, ret_way, err);

	free(status);
	return rc;
}

int seccomp_check_status(const struct tracee *t, const char *status, enum seccomp_way *ret_way,
			 struct ubp_err *err)
{
	struct seccomp_state target = { proc_number(status, "\nSeccomp:"),
					proc_number(status, "\nSeccomp_filters:") };
	struct seccomp_state own = { 0 };
	bool may_suspend = false;

	if (target.mode < 0)
		target.mode = 0; /* a kernel without seccomp, or it is gone */
	if (target.mode) {
		own.mode = task_seccomp(0, &own.n_filters);
		may_suspend = set_options(t, PTRACE_O_SUSPEND_SECCOMP) == 0;
		(void)set_options(t, 0);
	}
	*ret_way = seccomp_choose(&target, &own,
				  target.mode && proc_same_namespace(0, t->tid, "pid") == 1,
				  may_suspend);
	if (*ret_way != SECCOMP_REFUSE)
		return 0;
	return ubp_fail(err, EACCES,
			"process %d is confined by %s, which may kill it for a system call of "
			"ubp's: run ubp as root (CAP_SYS_ADMIN, itself not confined), or with "
			"--force, which makes none",
			(int)t->process->pid,
			target.mode == 1 ? "strict seccomp" : "a seccomp filter");
}
