/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/resume.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/trace/eintr.h"
#include "engine/trace/mem.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/seccomp.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

void tracee_consume(const struct tracee *t)
{
	tracer_consume_stop(t->tid);
}

void tracee_leave_frame(struct tracee *t)
{
	if (t->remote.frame)
		t->process->space->frames_taken &= ~(1U << (t->remote.frame - 1));
	t->remote.frame = 0;
}

void tracee_build_frame(const struct tracee *t, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			size_t *ret_len, uint64_t *ret_sp)
{
	const struct space *space = t->process->space;

	if (t->remote.frame)
		space->arch->stub.frame_below(
			space->frames + (uint64_t)t->remote.frame * UBP_STUB_FRAME_MAX,
			t->remote.before, t->remote.more, ret_frame, ret_len, ret_sp);
	else
		space->arch->stub.frame(t->remote.before, t->remote.more, ret_frame, ret_len,
					ret_sp);
}

int tracee_renew_frame(const struct tracee *t)
{
	uint8_t frame[UBP_STUB_FRAME_MAX];
	uint64_t sp;
	size_t len;

	tracee_build_frame(t, frame, &len, &sp);
	return mem_write(&t->process->space->mem, t->tid, sp, frame, len);
}

/*
 * Who looks for addresses of ours in stacks (engine/plant/jump_who.c) goes by what stands there, and what the program's next frames don't write to
 * stays: a thread that came from a detour and waits from then on would be in that for good.
 */
static void wipe_frame(const struct tracee *t)
{
	const struct space *space = t->process->space;
	uint8_t frame[UBP_STUB_FRAME_MAX];
	uint64_t sp;
	size_t len;

	if (t->remote.frame)
		return;
	tracee_build_frame(t, frame, &len, &sp);
	memset(frame, 0, len);
	(void)mem_write(&space->mem, t->tid, sp, frame, len);
}

void tracee_put_before(struct tracee *t)
{
	const struct ubp_arch *arch = t->process->space->arch;
	struct ubp_regs regs = *t->remote.before;

	if (t->remote.resumes)
		regs.r[arch->call.reg] = (uint64_t)arch->call.nr_restart;
	t->remote.resumes = false;
	if (ubp_host_set_regs(t->tid, &regs) == 0) {
		wipe_frame(t);
		tracee_leave_frame(t);
	}
	ubp_host_put_more(t->tid, t->remote.more);
}

void tracee_leave_stub(struct tracee *t)
{
	t->remote.called = false;
	tracee_put_before(t);
	free(t->remote.before); /* large, and needed once in a thread's life, mostly */
	free(t->remote.more);
	t->remote.before = NULL;
	t->remote.more = NULL;
	/* On its way out the kernel looks whether to make a call again if there may be a signal. */
	t->remote.stops_again =
		!t->remote.by_signal && again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
	t->remote.by_signal = false;
}

/*
 * The kernel itself looks at the instruction that is to be stepped, and would wait for it. Without
 * a step the slot's own jump does the rest.
 */
static bool may_step(const struct tracee *t)
{
	return mem_is_sure(&t->process->space->mem, t->tid);
}

void tracee_resume(struct tracee *t, int sig)
{
	int request;

	if (t->remote.at_large)
		return; /* a signal it has stopped for meanwhile would be lost */
	if (t->parked && !t->remote.is_in)
		return;
	t->stepping = t->stepping && may_step(t);
	request = t->remote.is_in && !t->remote.is_batch ? PTRACE_SYSCALL : PTRACE_CONT;
	request = t->stepping ? PTRACE_SINGLESTEP : request;
	if (t->remote.called && !t->remote.is_in)
		tracee_leave_stub(t);
	if (t->no_seccomp && !t->remote.is_in)
		seccomp_restore(t); /* a remote call that was given up */
	/* A stop clears a pending interrupt: ask again before the thread runs. And one
	 * that was in a group stop goes back there: the stop asked for reports it. */
	if (t->want_interrupt || (t->listening && !t->remote.is_in))
		(void)again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	t->held = false;
	t->left_alone = 0; /* what a look has shown may be otherwise now */
	t->listening = t->listening && t->remote.is_in;
	/* ESRCH: killed while it was stopped. Its end will be reported. */
	(void)again_ptrace(request, t->tid, 0, sig);
}

void tracer_park(struct tracer *tracer, struct tracee *t, pid_t pid)
{
	tracee_consume(t);
	t->parked_for = pid;
	t->held = true;
	t->parked = true;
	tracer->n_parked++;
}

void tracer_unpark(struct tracer *tracer, pid_t tid)
{
	struct tracee *t = map_get(&tracer->tracees, (uint64_t)tid);

	if (!t || !t->parked)
		return;
	t->parked = false;
	tracer->n_parked--;
	tracee_resume(t, 0);
}

void tracer_keep(struct tracee *t)
{
	tracee_consume(t);
	t->held = t->parked = t->kept = true;
}

void tracer_keep_no_more(struct tracee *t)
{
	t->parked = t->kept = false;
}

void tracer_forget_parked(struct tracer *tracer, struct tracee *t)
{
	tracer->n_parked -= t->parked && !t->kept;
	t->parked = t->kept = false;
}

bool tracee_has_trap(struct tracer *tracer, struct tracee *t)
{
	uint64_t pc;

	return t->stepping || (ubp_host_get_pc(t->tid, &pc) == 0 &&
			       tracer->ops->pc_has_trap(tracer->ctx, t, pc));
}

void tracee_event_stop(struct tracee *t, int sig)
{
	tracee_consume(t);
	t->want_interrupt = t->remote.stops_again = t->remote.at_large = false;
	/* A group stop breaks calls off without us, too. */
	if (sig == SIGTRAP)
		eintr_redo(t);
	else
		eintr_keep(t);
}
