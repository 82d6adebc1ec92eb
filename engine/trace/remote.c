/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/remote.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/trace/task.h"

#define CALL_LIMIT_MS 10000

int remote_begin(struct remote *remote, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, uint64_t stub, struct ubp_err *err)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint8_t frame[UBP_STUB_FRAME_MAX];
	size_t len;
	int rc;

	*remote = (struct remote){ .tracer = tracer, .t = t, .stub = stub, .regs = *at };
	arch->stub_frame(at, false, frame, &len, &remote->sp);
	rc = mem_write(&t->process->space->mem, t->tid, remote->sp, frame, len);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the stack of thread %d: %s",
				(int)t->tid, strerror(-rc));
	return 0;
}

enum call_stop { NOT_THE_CALL, CALL_ENTRY, CALL_EXIT };

/* Is this syscall-stop one of the stub's own call? */
static enum call_stop classify(const struct remote *remote, const struct stop *stop)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	struct __ptrace_syscall_info info = { 0 };

	if (stop->sig != (SIGTRAP | 0x80) || stop->event)
		return NOT_THE_CALL;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, stop->tid, sizeof(info), &info) <= 0 ||
	    info.instruction_pointer != remote->stub + arch->stub_syscall_end ||
	    info.stack_pointer != remote->sp)
		return NOT_THE_CALL;
	return info.op == PTRACE_SYSCALL_INFO_EXIT ? CALL_EXIT : CALL_ENTRY;
}

static int await_exit(struct remote *remote, struct ubp_err *err)
{
	struct tracer *tracer = remote->tracer;
	struct tracee *t = remote->t;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	struct stop stop;
	int rc;

	while ((rc = wait_one(tid, CALL_LIMIT_MS, &stop)) == 1) {
		switch (classify(remote, &stop)) {
		case CALL_EXIT:
			tracee_consume(remote->t);
			remote->t->held = true;
			return 0;
		case CALL_ENTRY:
			tracee_consume(remote->t);
			tracee_resume(remote->t, 0);
			break;
		case NOT_THE_CALL:
			/* Signals, handlers, births go their way; then it comes back. */
			tracer_dispatch(tracer, &stop);
			if (map_get(&tracer->tracees, (uint64_t)tid) == t &&
			    t->n_execs == n_execs)
				break;
			remote->t = NULL;
			return ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
		}
	}
	return rc < 0 ? ubp_fail(err, ESRCH, "thread %d has ended", (int)tid)
		      : ubp_fail(err, ETIMEDOUT, "thread %d does not finish a system call",
				 (int)tid);
}

int remote_call(struct remote *remote, int nr, const uint64_t args[6], int64_t *ret_result,
		struct ubp_err *err)
{
	struct tracee *t = remote->t;
	const struct ubp_arch *arch = t->process->space->arch;
	struct ubp_regs regs = remote->regs;
	uint8_t head[56];
	int rc;

	arch->stub_args((uint64_t)nr, args, head);
	rc = mem_write(&t->process->space->mem, t->tid, remote->sp, head, sizeof(head));
	if (rc == 0) {
		arch->stub_regs(&regs, remote->stub, remote->sp);
		rc = ubp_host_set_regs(t->tid, &regs);
	}
	if (rc < 0)
		return ubp_fail(err, -rc, "remote call in thread %d: %s", (int)t->tid,
				strerror(-rc));
	t->in_remote = true;
	tracee_resume(t, remote->deliver);
	remote->deliver = 0;
	rc = await_exit(remote, err);
	if (rc < 0)
		return rc;
	rc = ubp_host_get_regs(t->tid, &regs);
	if (rc < 0)
		return ubp_fail(err, -rc, "thread %d has ended", (int)t->tid);
	*ret_result = arch->syscall_result(&regs);
	return 0;
}

void remote_end(struct remote *remote)
{
	if (remote->t)
		remote->t->in_remote = false;
}
