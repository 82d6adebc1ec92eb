/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/waker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/task.h"

/* Ignored by default: a waker whose tracer is gone does not mind. */
#define RING SIGWINCH

/* Before Linux 5.9. Nothing that takes a lock: the host may have had other threads. */
static void close_one_by_one(void)
{
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	char buf[1024] __attribute__((aligned(8)));
	long n;

	if (dir < 0)
		return;
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *ent = (const void *)(buf + at);
			int fd = 0;

			for (const char *c = ent->d_name; *c >= '0' && *c <= '9'; c++)
				fd = fd * 10 + *c - '0';
			if (ent->d_name[0] != '.' && fd != dir)
				(void)close(fd);
			at += ent->d_reclen;
		}
	}
	(void)close(dir);
}

static void sit_still(pid_t parent)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* killed before we could ask for a word of it */
	/* Hold no descriptor of the host: a pipe would never see its end. */
	if (syscall(SYS_close_range, 0U, ~0U, 0U) < 0)
		close_one_by_one();
	(void)setsid();
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
			: task_no_ptrace(task_yama_scope(), code, err);
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
