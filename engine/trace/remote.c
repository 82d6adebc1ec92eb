/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/remote_batch.h"
#include "engine/trace/remote_facts.h"
#include "engine/trace/remote_stop.h"
#include "engine/trace/resume.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/wait.h"

enum call_stop { NOT_THE_CALL, CALL_ENTRY, CALL_EXIT, CALL_SIGNAL };

/* A system call's stop: is it the stub's own call? If so, whether it is its entry is noted. */
static bool is_own_call(struct remote *remote, pid_t tid)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	struct __ptrace_syscall_info info = { 0 };
	struct ubp_regs regs;

	if (again_ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0) {
		regs.r[arch->reg.pc] = info.instruction_pointer;
		regs.r[arch->reg.sp] = info.stack_pointer;
	} else if (ubp_host_get_regs(tid, &regs) < 0) {
		return false; /* before Linux 5.3 the registers tell */
	}
	if (regs.r[arch->reg.pc] != remote->stub + arch->stub.syscall_end ||
	    regs.r[arch->reg.sp] != remote->sp)
		return false;
	remote->is_entered =
		info.op ? info.op != PTRACE_SYSCALL_INFO_EXIT : !remote->is_entered;
	return true;
}

/* Is this stop one of the stub's own call, or before it? */
static enum call_stop classify(struct remote *remote, const struct stop *stop)
{
	const struct ubp_arch *arch = remote->t->process->space->arch;
	uint64_t pc;

	if (stop->exited || stop->event)
		return NOT_THE_CALL;
	if (stop->sig != (SIGTRAP | 0x80))
		return ubp_host_get_pc(stop->tid, &pc) == 0 &&
				       pc - remote->stub < arch->stub.len
			       ? CALL_SIGNAL
			       : NOT_THE_CALL;
	if (!is_own_call(remote, stop->tid))
		return NOT_THE_CALL;
	return remote->is_entered ? CALL_ENTRY : CALL_EXIT;
}

int remote_begin(struct remote *remote, const struct held *held, uint64_t stub,
		 struct ubp_err *err)
{
	struct tracee *t = held->t;
	int rc;

	/* In what the process runs now nothing was planted. */
	if (!stub)
		return ubp_fail(err, ESTALE, "process %d has no place for remote calls",
				(int)t->process->pid);
	rc = remote_facts_learn(t, err);
	if (rc < 0)
		return rc;
	if (t->process->space->arch->reg.in_other_mode &&
	    t->process->space->arch->reg.in_other_mode(held->at))
		return ubp_fail(
			err, ENOTSUP,
			"thread %d is in another mode of the processor than its program",
			(int)t->tid);
	*remote = (struct remote){ .tracer = held->tracer, .t = t, .stub = stub };
	remote->suspend = t->remote.facts.suspend;
	t->remote.is_batch = false;
	if (!t->remote.before)
		t->remote.before = malloc(sizeof(*t->remote.before));
	if (!t->remote.more)
		t->remote.more = calloc(1, sizeof(*t->remote.more));
	if (!t->remote.before || !t->remote.more)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!t->remote.called) {
		*t->remote.before = *held->at;
		t->remote.resumes = false;
		rc = ubp_host_get_more(t->tid, t->remote.more, err);
	}
	if (rc == 0 && !t->remote.called)
		rc = remote_settle(remote, err);
	return rc < 0 ? rc : remote_write_frame(remote, err);
}

/*
 * The filter looks at a call after its tracer did. No other one escapes it: not those
 * of a signal handler that comes between. Up to here the thread was about to read from
 * no file, which any filter lets pass: were ubp killed, that is what it would do.
 */
static void enter_unfiltered(const struct remote *remote)
{
	struct tracee *t = remote->t;
	struct ubp_regs regs;

	if (ubp_host_get_regs(t->tid, &regs) < 0 || seccomp_suspend(t) < 0)
		return;
	t->process->space->arch->call.enter(&regs, (uint64_t)remote->nr, remote->args);
	(void)ubp_host_set_call(t->tid, &regs);
}

/* 1: the call was made; 0: a signal was delivered first, begin again. */
static int await_exit(struct remote *remote, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	struct held held = held_thread(remote->tracer, t, NULL);
	struct stop stop;
	int rc;

	while ((rc = tracer_await(remote->tracer, t, REMOTE_LIMIT_MS, &stop)) == 1) {
		switch (classify(remote, &stop)) {
		case CALL_EXIT:
			tracee_consume(t);
			seccomp_restore(t);
			t->held = true;
			t->remote.called = true;
			return 1;
		case CALL_ENTRY:
			tracee_consume(t);
			if (remote->suspend)
				enter_unfiltered(remote);
			tracee_resume(t, 0);
			break;
		case CALL_SIGNAL:
			tracee_put_before(t);
			rc = remote_deliver_first(remote, &stop, err);
			if (rc == 0)
				rc = remote_settle(remote, err);
			return rc < 0 ? rc : remote_write_frame(remote, err);
		case NOT_THE_CALL:
			/* Group stops and births go their way; then it comes back. */
			tracer_dispatch(remote->tracer, &stop);
			if (!held_lasts(&held))
				return remote_has_ended(remote, held.tid, err);
			break;
		}
	}
	return rc == -ESRCH ? remote_has_ended(remote, held.tid, err)
			    : remote_takes_too_long(remote, err);
}

/* Send the thread into the stub. */
static int start(struct remote *remote, int nr, const uint64_t args[6], struct ubp_err *err)
{
	static const uint64_t no_file[6] = { UINT64_MAX };
	struct tracee *t = remote->t;
	const struct ubp_arch *arch = t->process->space->arch;
	struct ubp_regs regs = remote->regs;
	uint8_t head[56];
	int rc;

	remote->nr = nr;
	memcpy(remote->args, args, sizeof(remote->args));
	if (remote->suspend)
		arch->stub.args((uint64_t)arch->call.nr_read, no_file, head);
	else
		arch->stub.args((uint64_t)nr, args, head);
	rc = mem_write(&t->process->space->mem, t->tid, remote->sp, head, sizeof(head));
	if (rc == 0 && remote->sign)
		rc = mem_write(&t->process->space->mem, t->tid,
			       remote->sp + arch->stub.buffer_at, remote->signing,
			       sizeof(remote->signing));
	if (rc == 0) {
		arch->stub.regs(&regs, remote->stub, remote->sp);
		if (remote->sign)
			arch->stub.sign(&regs, remote->stub, remote->sign == REMOTE_SIGN_B);
		rc = ubp_host_set_regs(t->tid, &regs);
	}
	if (rc < 0)
		return ubp_fail(err, -rc, "remote call in thread %d: %s", (int)t->tid,
				strerror(-rc));
	remote->is_entered = false;
	t->remote.called = t->remote.by_signal = t->remote.is_batch = false;
	t->remote.is_in = true;
	tracee_resume(t, remote->deliver);
	remote->deliver = 0;
	return 0;
}

/* With a stop at its entry and one at its exit. */
static int call_by_itself(struct remote *remote, int nr, const uint64_t args[6],
			  int64_t *ret_result, struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t moved[6], sp = remote->sp;
	struct ubp_regs regs;
	int rc = 0;

	for (int i = 0; rc == 0 && i < REMOTE_SIGNALS_MAX; i++) {
		remote_move_args(remote, args, sp, moved);
		rc = start(remote, nr, moved, err);
		if (rc == 0)
			rc = await_exit(remote, err);
	}
	if (rc == 0)
		return ubp_fail(err, ETIMEDOUT, "thread %d gets too many signals", (int)t->tid);
	if (rc < 0)
		return rc;
	rc = ubp_host_get_regs(t->tid, &regs);
	if (rc < 0)
		return ubp_fail(err, -rc, "thread %d has ended", (int)t->tid);
	*ret_result = arch->call.result(&regs);
	return 0;
}

int remote_calls(struct remote *remote, struct remote_step *steps, size_t n, size_t *ret_n_made,
		 struct ubp_err *err)
{
	uint64_t args[6], frame = remote->sp;
	int64_t result = 0;
	int rc = 0;

	*ret_n_made = 0;
	if (remote_may_batch(remote))
		rc = remote_batch(remote, steps, n, ret_n_made, err);
	while (rc == 0 && !remote_is_over(steps, n, *ret_n_made)) {
		const struct remote_step *step = &steps[*ret_n_made];

		remote_move_args(remote, step->args, frame, args);
		rc = call_by_itself(remote, step->nr, args, &result, err);
		if (rc == 0)
			remote_note_result(steps, ret_n_made, result);
	}
	return rc;
}

int remote_call(struct remote *remote, int nr, const uint64_t args[6], int64_t *ret_result,
		struct ubp_err *err)
{
	struct remote_step step = { .nr = nr };
	size_t n_made;
	int rc;

	memcpy(step.args, args, sizeof(step.args));
	rc = remote_calls(remote, &step, 1, &n_made, err);
	*ret_result = step.result;
	return rc;
}

int remote_sign(struct remote *remote, uint64_t address, uint64_t modifier, int key,
		uint64_t *ret_signed, struct ubp_err *err)
{
	static const uint64_t no_file[6] = { UINT64_MAX };
	const struct ubp_arch *arch = remote->t->process->space->arch;
	struct tracee *t = remote->t;
	int64_t ignored;
	int rc;

	remote->sign = key ? REMOTE_SIGN_B : REMOTE_SIGN_A;
	remote->signing[0] = address;
	remote->signing[1] = modifier;
	rc = remote_call(remote, arch->call.nr_read, no_file, &ignored, err);
	remote->sign = REMOTE_PLAIN;
	if (rc < 0)
		return rc;
	return mem_read(&t->process->space->mem, t->tid, remote->sp + arch->stub.buffer_at,
			ret_signed, sizeof(*ret_signed)) == sizeof(*ret_signed)
		       ? 0
		       : ubp_fail(err, EFAULT, "cannot read the stack of thread %d",
				  (int)t->tid);
}

void remote_end(struct remote *remote)
{
	if (remote->t)
		remote->t->remote.is_in = false;
}
