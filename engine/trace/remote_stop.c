/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/remote_stop.h"

#include <errno.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/remote_facts.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/wait.h"

/* One of the space's own frames, until the thread goes on from where it was. */
static int take_frame(struct tracee *t, struct ubp_err *err)
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
	return 0;
}

int remote_write_frame(struct remote *remote, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	const struct space *space = t->process->space;
	uint8_t frame[UBP_STUB_FRAME_MAX];
	size_t len;
	int rc = space->frames ? take_frame(t, err) : 0;

	if (rc < 0)
		return rc;
	remote->regs = *t->remote.before;
	tracee_build_frame(t, frame, &len, &remote->sp);
	rc = mem_write(&space->mem, t->tid, remote->sp, frame, len);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the stack of thread %d: %s",
				(int)t->tid, strerror(-rc));
	return 0;
}

int remote_has_ended(struct remote *remote, pid_t tid, struct ubp_err *err)
{
	remote->t = NULL;
	ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	return -ESRCH;
}

int remote_takes_too_long(const struct remote *remote, struct ubp_err *err)
{
	/* Whatever it stops for next is not ours to resume it from. */
	remote->t->remote.at_large = true;
	return ubp_fail(err, ETIMEDOUT, "thread %d does not finish a system call",
			(int)remote->t->tid);
}

int remote_deliver_first(struct remote *remote, const struct stop *stop, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	struct held held = held_thread(remote->tracer, t, NULL);
	int rc;

	t->remote.is_in = false;
	t->want_interrupt = true; /* stop before the handler's first instruction */
	tracer_dispatch(remote->tracer, stop);
	if (!held_lasts(&held))
		return remote_has_ended(remote, held.tid, err);
	rc = attach_hold(remote->tracer, t);
	if (rc == -ESRCH || !held_lasts(&held))
		return remote_has_ended(remote, held.tid, err);
	if (rc <= 0)
		return remote_takes_too_long(remote, err);
	rc = ubp_host_get_regs(held.tid, t->remote.before);
	if (rc == 0)
		rc = ubp_host_get_more(held.tid, t->remote.more, err);
	/* A handler has a mask of its own. */
	t->remote.facts.are_known = false;
	if (rc == 0)
		rc = remote_facts_learn(t, err);
	remote->suspend = t->remote.facts.suspend;
	return rc == -ESRCH ? remote_has_ended(remote, held.tid, err) : rc;
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

int remote_settle(struct remote *remote, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	struct held held = held_thread(remote->tracer, t, NULL);
	struct stop stop;
	uint64_t nr;
	int rc = 1;

	while (may_resume(t)) {
		t->remote.is_in = true;
		tracee_resume(t, 0);
		rc = tracer_await(remote->tracer, t, REMOTE_LIMIT_MS, &stop);
		if (rc <= 0)
			return rc == -ESRCH ? remote_has_ended(remote, held.tid, err)
					    : remote_takes_too_long(remote, err);
		if (is_entry(t, &stop, &nr)) {
			tracee_consume(t);
			t->remote.is_in = false;
			t->held = true;
			t->remote.resumes =
				nr == (uint64_t)t->process->space->arch->call.nr_restart;
			return 0;
		}
		rc = remote_deliver_first(remote, &stop, err);
		if (rc < 0)
			return rc;
		if (!held_lasts(&held))
			return remote_has_ended(remote, held.tid, err);
	}
	return 0;
}

void remote_move_args(const struct remote *remote, const uint64_t args[6], uint64_t sp,
		      uint64_t ret_moved[6])
{
	for (int a = 0; a < 6; a++)
		ret_moved[a] =
			args[a] - sp < UBP_STUB_FRAME_MAX ? args[a] - sp + remote->sp : args[a];
}
