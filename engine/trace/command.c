/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define EXEC_TURN_MS 50
#define EXEC_TURNS   1200 /* for a command to begin */

static void child_exec(char *const argv[], const struct inherited *inherited, int go,
		       int report)
{
	char byte;

	(void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
	(void)setrlimit(RLIMIT_NOFILE, &inherited->nofile);
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	if (inherited->folder)
		(void)!fchdir(inherited->folder);
	execvp(argv[0], argv);
	(void)!write(report, &errno, sizeof(errno));
	_exit(127);
}

/* The child is seized: let it exec, and wait until it has. */
static int wait_for_exec(struct tracer *tracer, struct process *p, int report, const char *name,
			 struct ubp_err *err)
{
	struct tracee *t = map_get(&tracer->tracees, (uint64_t)p->pid);
	struct stop stop;
	int code = 0;

	for (unsigned turns = 0;;) {
		if (wait_one(p->pid, EXEC_TURN_MS, &stop) != 1) {
			if (++turns < EXEC_TURNS && !tracer_is_cancelled(tracer))
				continue;
			/* It may still come: it shall not run untraced. */
			(void)kill(p->pid, SIGKILL);
			return tracer_is_cancelled(tracer)
				       ? tracer_give_up(err)
				       : ubp_fail(err, ETIMEDOUT, "%s does not start", name);
		}
		if (stop.exited)
			break;
		if (stop.event == PTRACE_EVENT_EXEC) {
			tracee_consume(t);
			t->held = true;
			return 0;
		}
		(void)again_ptrace(PTRACE_CONT, p->pid, 0, stop.event ? 0 : stop.sig);
	}
	tracer_dispatch(tracer, &stop);
	if (read(report, &code, sizeof(code)) == sizeof(code))
		return ubp_fail(err, code, "%s: %s", name, strerror(code));
	return ubp_fail(err, ECHILD, "%s: ended before it ran", name);
}

/* The command's own in place of ours. One that can't be traced has not run: it shall not. */
static int take_arch(struct space *space, pid_t pid, struct ubp_err *err)
{
	const struct ubp_arch *arch = task_arch(pid, err);

	if (!arch) {
		(void)kill(pid, SIGKILL);
		return -err->code;
	}
	space->arch = arch;
	space_settle_exec(space, pid);
	return 0;
}

/* A child that nobody traces. It may be the host program that waits for it. */
static void end_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

int command_start(struct tracer *tracer, char *const argv[], const struct inherited *inherited,
		  struct held *ret_held, struct ubp_err *err)
{
	struct process *p = NULL;
	int go[2], report[2], rc;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return ubp_fail_sys(err, "pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		rc = ubp_fail_sys(err, "pipe");
		close(go[0]);
		close(go[1]);
		return rc;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_exec(argv, inherited, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	rc = pid < 0 ? ubp_fail_sys(err, "fork") : attach_process(tracer, pid, &p, err);
	if (rc < 0 && pid > 0)
		end_child(pid);
	close(go[1]); /* end of file lets it go on */
	if (p) {
		tracer->command = pid;
		rc = wait_for_exec(tracer, p, report[0], argv[0], err);
	}
	close(report[0]);
	if (!p || rc < 0)
		return rc;
	/* The memory it was opened with was that of our own copy. */
	mem_close(&p->space->mem);
	rc = mem_open(&p->space->mem, pid, err);
	if (rc == 0)
		rc = take_arch(p->space, pid, err);
	*ret_held = held_thread(tracer, map_get(&tracer->tracees, (uint64_t)pid), NULL);
	return rc;
}
