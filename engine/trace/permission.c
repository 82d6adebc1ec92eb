/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/permission.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/trace/task.h"

int permission_yama(void)
{
	char buf[16];

	return proc_read("/proc/sys/kernel/yama/ptrace_scope", buf, sizeof(buf)) ? atoi(buf)
										 : 0;
}

/* The three ids behind "Uid:" or "Gid:" are all @id. */
static bool has_ids(const char *status, const char *name, unsigned id)
{
	const char *at = strstr(status, name);
	unsigned ids[3];

	if (!at || sscanf(at + strlen(name), "%u %u %u", &ids[0], &ids[1], &ids[2]) != 3)
		return false;
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

/* Is CAP_SYS_PTRACE in effect? */
static bool may_trace_all(const char *status)
{
	uint64_t effective = 0;

	(void)proc_bits(status, "\nCapEff:", &effective);
	return effective >> CAP_SYS_PTRACE & 1;
}

/* Has it capabilities that we have not? */
static bool has_more(const char *status, const char *own)
{
	uint64_t theirs = 0, ours = 0;

	(void)proc_bits(status, "\nCapPrm:", &theirs);
	(void)proc_bits(own, "\nCapPrm:", &ours);
	return theirs & ~ours;
}

bool permission_for_all(void)
{
	char *own = proc_read_status(gettid());
	bool may = may_trace_all(own);

	free(own);
	return may;
}

/* In the namespace of all users: what it may do it may do to all. */
static bool is_in_first_namespace(void)
{
	unsigned inside, outside, n;
	char map[256];

	return proc_read("/proc/self/uid_map", map, sizeof(map)) &&
	       sscanf(map, "%u %u %u", &inside, &outside, &n) == 3 && inside == 0 &&
	       outside == 0 && n == UINT_MAX;
}

/* The kernel gives the files of what may be dumped to its user, of the rest to root. */
static bool is_dumpable(pid_t pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return stat(path, &st) == 0 && st.st_uid != 0 && st.st_uid == geteuid();
}

/* @status: of the process; @own: our own. */
static void compare_with_us(pid_t pid, const char *status, const char *own, struct refusal *r)
{
	r->is_kernel = proc_number(status, "\nKthread:") == 1;
	r->is_self = pid == getpid();
	r->same_user =
		has_ids(status, "\nUid:", getuid()) && has_ids(status, "\nGid:", getgid());
	r->is_root = geteuid() == 0;
	r->lacks_caps = has_more(status, own);
	r->other_namespace = proc_same_namespace(0, pid, "user") == 0;
	r->is_allowed = (may_trace_all(own) && is_in_first_namespace()) ||
			(r->same_user && !r->lacks_caps && is_dumpable(pid));
	r->yama = permission_yama();
}

static void collect_facts(pid_t pid, pid_t tid, struct refusal *r)
{
	char *status = proc_read_status(pid), *own = proc_read_status(gettid());

	*r = (struct refusal){ .pid = pid,
			       .state = task_state(tid),
			       .tracer = task_tracer(tid) };
	if (r->tracer)
		task_comm(r->tracer, r->tracer_comm);
	if (status && own)
		compare_with_us(pid, status, own, r);
	free(own);
	free(status);
}

static int explain_permission(const struct refusal *r, int code, struct ubp_err *err)
{
	int pid = (int)r->pid;

	if (r->yama > 2)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: kernel.yama.ptrace_scope is %d, "
			"which forbids all tracing",
			pid, r->yama);
	/* Yama was asked, or has nothing against it. */
	if (r->is_allowed && (r->is_root || r->yama == 0))
		return ubp_fail(
			err, code,
			"no permission to trace process %d: a security module (landlock, "
			"SELinux, AppArmor, ...) forbids it",
			pid);
	if (r->is_root)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: root lacks CAP_SYS_PTRACE here%s",
			pid, r->other_namespace ? ", or in that process's user namespace" : "");
	if (!r->same_user)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: it belongs to another user; run "
			"as the same user, or as root (CAP_SYS_PTRACE)",
			pid);
	if (r->lacks_caps)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: it has capabilities that ubp has "
			"not; run as root (CAP_SYS_PTRACE)",
			pid);
	if (r->yama > 0)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: kernel.yama.ptrace_scope is %d; "
			"run as root (CAP_SYS_PTRACE)%s",
			pid, r->yama,
			r->yama == 1 ? ", or start the program as a command of ubp" : "");
	return ubp_fail(
		err, code,
		"no permission to trace process %d: it is not dumpable (a setuid program, "
		"unreadable, or by prctl()); run as root (CAP_SYS_PTRACE)",
		pid);
}

int permission_refusal(const struct refusal *r, int code, struct ubp_err *err)
{
	int pid = (int)r->pid;

	if (code == ESRCH || r->state == 0)
		return ubp_fail(err, ESRCH, "no process %d", pid);
	if (r->state == 'Z' || r->state == 'X')
		return ubp_fail(
			err, ESRCH,
			"process %d is a zombie: it has ended, its parent has not noticed",
			pid);
	if (r->tracer)
		return ubp_fail(err, EPERM, "process %d is already traced by process %d (%s)",
				pid, (int)r->tracer, r->tracer_comm);
	if (r->is_kernel)
		return ubp_fail(err, EPERM, "process %d is a kernel thread", pid);
	if (r->is_self)
		return ubp_fail(err, EPERM, "process %d is ubp itself", pid);
	if (code == EPERM || code == EACCES)
		return explain_permission(r, code, err);
	if (code == ENOTSUP) /* task_arch() said so */
		return ubp_fail(err, code, TASK_OTHER_KIND, pid);
	if (code == ETIMEDOUT) /* the same */
		return ubp_fail(err, code,
				"cannot look at the program of process %d: its file system "
				"does not answer",
				pid);
	return ubp_fail(err, code, "cannot trace process %d: %s", pid, strerror(code));
}

int permission_no_ptrace(int yama, int code, struct ubp_err *err)
{
	if (yama < 2 || (code != EPERM && code != EACCES))
		return ubp_fail(err, code,
				"cannot use ptrace at all: PTRACE_SEIZE of an own child: %s",
				strerror(code));
	return ubp_fail(
		err, code,
		"no permission to trace any process: kernel.yama.ptrace_scope is %d%s", yama,
		yama == 2 ? "; run as root (CAP_SYS_PTRACE)" : ", which forbids all tracing");
}

int permission_explain(pid_t pid, pid_t tid, int code, struct ubp_err *err)
{
	struct refusal r;
	int rc = proc_shortage();

	/* Nothing could be read of it, as of one that has ended. */
	if (rc < 0)
		return ubp_fail(err, -rc, "process %d cannot be looked at: %s", (int)pid,
				strerror(-rc));
	collect_facts(pid, tid, &r);
	return permission_refusal(&r, code, err);
}

int permission_to_look(pid_t pid, struct ubp_err *err)
{
	char path[64], to[16];

	/* Some kernels are freer with /proc/PID/maps than with the rest. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, to, sizeof(to)) >= 0 || (errno != EPERM && errno != EACCES))
		return 0;
	return permission_explain(pid, pid, errno, err);
}
