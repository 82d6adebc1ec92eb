/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/waker.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/descriptors.h"
#include "engine/base/err.h"
#include "engine/trace/permission.h"
#include "engine/trace/task.h"

/* Ignored by default: a waker whose tracer is gone does not mind. */
#define RING SIGWINCH

void waker_become_one(pid_t parent, int keep)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* killed before we could ask for a word of it */
	descriptors_keep((const int[2]){ -1, keep });
	(void)setsid();
}

static void sit_still(pid_t parent)
{
	sigset_t none;

	waker_become_one(parent, -1);
	sigemptyset(&none);
	for (;;)
		sigsuspend(&none);
}

pid_t waker_start(struct ubp_err *err)
{
	pid_t self = getpid(), pid = fork();

	if (pid < 0)
		return ubp_fail_sys(err, "fork");
	if (pid == 0) {
		sit_still(self);
		_exit(1);
	}
	if (again_ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) < 0) {
		int rc, code = errno;
		pid_t by = task_tracer(pid);

		rc = by ? ubp_fail(err, EPERM,
				   "ubp and its children are traced by process %d themselves",
				   (int)by)
			: permission_no_ptrace(permission_yama(), code, err);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, __WALL);
		return rc;
	}
	return pid;
}

void waker_ring(pid_t waker)
{
	if (waker > 0)
		(void)kill(waker, RING);
}

void waker_quiet(pid_t waker)
{
	(void)again_ptrace(PTRACE_CONT, waker, 0, 0);
}

void waker_end(pid_t waker)
{
	int status;

	if (waker <= 0)
		return;
	(void)kill(waker, SIGKILL);
	while (waitpid(waker, &status, __WALL | __WNOTHREAD) == waker && !WIFEXITED(status) &&
	       !WIFSIGNALED(status))
		;
}
