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
#include "engine/trace/attach.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/task.h"

#define CALL_LIMIT_MS 10000
#define SIGNALS_MAX   1000 /* delivered before one call is made */

/* One of the space's own frames, until the thread goes on from where it was. */
static int take_frame(struct tracee *t, uint64_t *ret_top, struct ubp_err *err)
{
	struct space *space = t->process->space;

	for (unsigned i = 0; !t->remote.frame && i < REMOTE_FRAMES; i++)
		if (!(space->frames_taken >> i & 1)) {
			space->frames_taken |= 1U << i;
			t->remote.frame = (uint8_t)(i + 1);
		}
	if (!t->remote.frame)
		return ubp_fail(err, EBUSY, "too many threads of process %d make calls for us",
				(int)t->process->pid);
	*ret_top = space->frames + (uint64_t)t->remote.frame * UBP_STUB_FRAME_MAX;
	return 0;
}

static int write_frame(struct remote *remote, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	const struct space *space = t->process->space;
	uint8_t frame[UBP_STUB_FRAME_MAX];
	uint64_t top = 0;
	size_t len;
	int rc = space->frames ? take_frame(t, &top, err) : 0;

	if (rc < 0)
		return rc;
	remote->regs = *t->remote.before;
	if (top)
		space->arch->stub.frame_below(top, t->remote.before, t->remote.more, frame,
					      &len, &remote->sp);
	else
		space->arch->stub.frame(t->remote.before, t->remote.more, frame, &len,
					&remote->sp);
	rc = mem_write(&t->process->space->mem, t->tid, remote->sp, frame, len);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the stack of thread %d: %s",
				(int)t->tid, strerror(-rc));
	return 0;
}

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

static int has_ended(struct remote *remote, pid_t tid, struct ubp_err *err)
{
	remote->t = NULL;
	ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	return -ESRCH;
}

static int takes_too_long(const struct remote *remote, struct ubp_err *err)
{
	/* Whatever it stops for next is not ours to resume it from. */
	remote->t->remote.at_large = true;
	return ubp_fail(err, ETIMEDOUT, "thread %d does not finish a system call",
			(int)remote->t->tid);
}

/* Still the thread it was? */
static bool is_same(const struct remote *remote, pid_t tid, unsigned n_execs)
{
	return tracer_has_same(remote->tracer, remote->t, tid, n_execs);
}

/*
 * A signal came first. Its handler might take long, never return, or expect
 * that the system call the thread was in is broken off: it gets the signal where it
 * was, and is held again.
 */
static int deliver_first(struct remote *remote, const struct stop *stop, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	int rc;

	t->remote.is_in = false;
	t->want_interrupt = true; /* stop before the handler's first instruction */
	tracer_dispatch(remote->tracer, stop);
	if (!is_same(remote, tid, n_execs))
		return has_ended(remote, tid, err);
	rc = attach_hold(remote->tracer, t);
	if (rc == -ESRCH || !is_same(remote, tid, n_execs))
		return has_ended(remote, tid, err);
	if (rc <= 0)
		return takes_too_long(remote, err);
	rc = ubp_host_get_regs(tid, t->remote.before);
	if (rc == 0)
		rc = ubp_host_get_more(tid, t->remote.more, err);
	return rc == -ESRCH ? has_ended(remote, tid, err) : rc;
}

/* Is it back at the instruction of a call of which, perhaps, only the rest is to be made? */
static bool may_resume(const struct tracee *t)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t pc = t->remote.before->r[arch->reg.pc], is;
	uint8_t code[8] = { 0 };
	long n_filters;

	/* A filter would see the call that is left out. */
	return arch->call.may_resume && ubp_host_get_pc(t->tid, &is) == 0 && is == pc &&
	       mem_read(&t->process->space->mem, t->tid, pc, code, sizeof(code)) &&
	       arch->call.may_resume(t->remote.before, code) &&
	       task_seccomp(t->tid, &n_filters) <= 0;
}

/* The entry of the system call in front of which it stood? */
static bool is_entry(const struct tracee *t, const struct stop *stop, uint64_t *ret_nr)
{
	const struct ubp_arch *arch = t->process->space->arch;
	struct __ptrace_syscall_info info = { 0 };

	if (stop->exited || stop->event || stop->sig != (SIGTRAP | 0x80) ||
	    again_ptrace(PTRACE_GET_SYSCALL_INFO, stop->tid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY ||
	    info.instruction_pointer - t->remote.before->r[arch->reg.pc] > UBP_INSN_MAX ||
	    info.stack_pointer != t->remote.before->r[arch->reg.sp])
		return false;
	*ret_nr = info.entry.nr;
	return true;
}

/*
 * Where the registers don't tell whether the kernel is about to make a whole call or the rest
 * of one, the call it enters does. The thread is left at that entry: nothing has happened yet.
 */
static int settle(struct remote *remote, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	struct stop stop;
	uint64_t nr;
	int rc = 1;

	while (may_resume(t)) {
		t->remote.is_in = true;
		tracee_resume(t, 0);
		rc = tracer_await(remote->tracer, t, CALL_LIMIT_MS, &stop);
		if (rc <= 0)
			return rc == -ESRCH ? has_ended(remote, tid, err)
					    : takes_too_long(remote, err);
		if (is_entry(t, &stop, &nr)) {
			tracee_consume(t);
			t->remote.is_in = false;
			t->held = true;
			t->remote.resumes =
				nr == (uint64_t)t->process->space->arch->call.nr_restart;
			return 0;
		}
		rc = deliver_first(remote, &stop, err);
		if (rc < 0)
			return rc;
		if (!is_same(remote, tid, n_execs))
			return has_ended(remote, tid, err);
	}
	return 0;
}

int remote_begin(struct remote *remote, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, uint64_t stub, struct ubp_err *err)
{
	enum seccomp_way way;
	int rc = seccomp_check(t, &way, err);

	if (rc < 0)
		return rc;
	if (t->process->space->arch->reg.in_other_mode &&
	    t->process->space->arch->reg.in_other_mode(at))
		return ubp_fail(
			err, ENOTSUP,
			"thread %d is in another mode of the processor than its program",
			(int)t->tid);
	*remote = (struct remote){ .tracer = tracer, .t = t, .stub = stub };
	remote->suspend = way == SECCOMP_SUSPEND;
	if (!t->remote.before)
		t->remote.before = malloc(sizeof(*t->remote.before));
	if (!t->remote.more)
		t->remote.more = calloc(1, sizeof(*t->remote.more));
	if (!t->remote.before || !t->remote.more)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!t->remote.called) {
		*t->remote.before = *at;
		t->remote.resumes = false;
		rc = ubp_host_get_more(t->tid, t->remote.more, err);
	}
	if (rc == 0 && !t->remote.called)
		rc = settle(remote, err);
	return rc < 0 ? rc : write_frame(remote, err);
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
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	struct stop stop;
	int rc;

	while ((rc = tracer_await(remote->tracer, t, CALL_LIMIT_MS, &stop)) == 1) {
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
			rc = deliver_first(remote, &stop, err);
			if (rc == 0)
				rc = settle(remote, err);
			return rc < 0 ? rc : write_frame(remote, err);
		case NOT_THE_CALL:
			/* Group stops and births go their way; then it comes back. */
			tracer_dispatch(remote->tracer, &stop);
			if (!is_same(remote, tid, n_execs))
				return has_ended(remote, tid, err);
			break;
		}
	}
	return rc == -ESRCH ? has_ended(remote, tid, err) : takes_too_long(remote, err);
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
	t->remote.called = false;
	t->remote.is_in = true;
	tracee_resume(t, remote->deliver);
	remote->deliver = 0;
	return 0;
}

int remote_call(struct remote *remote, int nr, const uint64_t args[6], int64_t *ret_result,
		struct ubp_err *err)
{
	const struct tracee *t = remote->t;
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t moved[6], sp = remote->sp;
	struct ubp_regs regs;
	int rc = 0;

	for (int i = 0; rc == 0 && i < SIGNALS_MAX; i++) {
		for (int a = 0; a < 6; a++)
			moved[a] = args[a] - sp < UBP_STUB_FRAME_MAX ? args[a] - sp + remote->sp
								     : args[a];
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
