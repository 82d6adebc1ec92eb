/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The steps stand below the frame, on the thread's stack. Behind the last one the thread sends itself a signal that
 * nobody would see without a tracer (remote_facts.c): with one, that is the only stop. If the tracer dies before, the kernel drops
 * the signal when it is sent, or when the thread goes on; all steps are made, and the frame leads back. The stop is inside of the
 * kernel's look at signals, so behind it the kernel makes a system call again that a stop has broken off, as it
 * would have without us, and no further stop is needed for that (tracee_leave_stub()).
 */

#include "engine/trace/remote_batch.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/remote_stop.h"
#include "engine/trace/resume.h"
#include "engine/trace/wait.h"

/* No system call returns that. */
#define NOT_MADE ((int64_t)((uint64_t)1 << 63))

struct batch {
	struct remote_step *steps;
	size_t n, n_made;
	uint64_t frame; /* where it was when the arguments were given */
	/* As they stand in the target, those from @sent on, the first at @at. */
	struct ubp_stub_step words[REMOTE_STEPS];
	size_t sent;
	uint64_t at;
	uint8_t was[sizeof(struct ubp_stub_step) * REMOTE_STEPS]; /* there before */
};

static bool has_failed(int64_t result)
{
	return result < 0 && result > -4096;
}

bool remote_is_over(const struct remote_step *steps, size_t n, size_t n_made)
{
	return n_made == n || (n_made && has_failed(steps[n_made - 1].result));
}

static bool is_over(const struct batch *b)
{
	return remote_is_over(b->steps, b->n, b->n_made);
}

void remote_note_result(struct remote_step *steps, size_t *n_made, int64_t result)
{
	struct remote_step *step = &steps[(*n_made)++];

	step->result = result;
	if (step->to_step)
		steps[step->to_step].args[step->to_arg] = (uint64_t)result;
}

/* Where the stub puts the result of a step that was sent: an index of words in .words. */
static size_t place_of_result(const struct batch *b, size_t i)
{
	const size_t width = sizeof(b->words[0]) / sizeof(uint64_t);
	const struct remote_step *step = &b->steps[i];

	return step->to_step ? (step->to_step - b->sent) * width + 1 + step->to_arg
			     : (i - b->sent) * width + offsetof(struct ubp_stub_step, result) /
							       sizeof(uint64_t);
}

static void lay_out(const struct remote *remote, struct batch *b)
{
	uint64_t *words = (uint64_t *)b->words;

	b->sent = b->n_made;
	b->at = remote->sp - (b->n - b->sent) * sizeof(b->words[0]);
	for (size_t i = b->sent; i < b->n; i++) {
		struct ubp_stub_step *to = &b->words[i - b->sent];

		*to = (struct ubp_stub_step){ .nr = (uint64_t)b->steps[i].nr,
					      .frame = remote->sp };
		remote_move_args(remote, b->steps[i].args, b->frame, to->args);
	}
	for (size_t i = b->sent; i < b->n; i++) {
		b->words[i - b->sent].to = b->at + place_of_result(b, i) * sizeof(uint64_t);
		words[place_of_result(b, i)] = (uint64_t)NOT_MADE;
	}
}

/* Send the thread into the batch. The frame's own call is the signal. 1, 0 (there is no room for that) or -errno. */
static int start_batch(struct remote *remote, struct batch *b, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	const struct space *space = t->process->space;
	const uint64_t signal[6] = { (uint64_t)t->remote.facts.own_pid,
				     (uint64_t)t->remote.facts.own_tid,
				     (uint64_t)t->remote.facts.sig };
	uint8_t head[56], bytes[sizeof(b->words) + sizeof(head)];
	struct ubp_regs regs = remote->regs;
	size_t len;
	int rc;

	lay_out(remote, b);
	len = remote->sp - b->at;
	memcpy(bytes, b->words, len);
	space->arch->stub.args(space->arch->stub.batch.nr_tgkill, signal, head);
	memcpy(bytes + len, head, sizeof(head));
	/* So near to the end of its stack the frame alone may have room. */
	if (mem_peek(&space->mem, b->at, b->was, len) != len ||
	    mem_write(&space->mem, t->tid, b->at, bytes, len + sizeof(head)) < 0) {
		t->remote.facts.sig = 0;
		return 0;
	}
	space->arch->stub.regs(&regs, space->batch, b->at);
	rc = ubp_host_set_regs(t->tid, &regs);
	if (rc < 0)
		return ubp_fail(err, -rc, "remote calls in thread %d: %s", (int)t->tid,
				strerror(-rc));
	t->remote.called = t->remote.by_signal = false;
	t->remote.is_in = t->remote.is_batch = true;
	tracee_resume(t, 0);
	return 1;
}

/*
 * What the program has popped is not its own any more. But who looks for addresses of ours in stacks goes by it
 * (engine/plant/give_back.c, engine/returns/returns.c), and what the program's next frames don't write to would be in
 * theirs.
 */
static void put_back(const struct remote *remote, const struct batch *b)
{
	const struct tracee *t = remote->t;

	(void)mem_write(&t->process->space->mem, t->tid, b->at, b->was,
			(b->n - b->sent) * sizeof(b->words[0]));
}

/* Something else stopped it in the batch: it is put back to where it was. In this order: if the tracer dies in between, the thread goes on. */
static void leave_batch(const struct remote *remote, const struct batch *b)
{
	struct tracee *t = remote->t;

	tracee_put_before(t);
	put_back(remote, b);
	t->remote.is_in = t->remote.is_batch = false;
}

/* What was made of what was sent, by a thread that stands in the batch with @regs. */
static int read_results(const struct remote *remote, struct batch *b,
			const struct ubp_regs *regs, struct ubp_err *err)
{
	const struct space *space = remote->t->process->space;
	const struct ubp_arch *arch = space->arch;
	size_t len = (b->n - b->sent) * sizeof(b->words[0]);
	uint64_t at = regs->r[arch->reg.pc] - space->batch;
	const uint64_t *words = (const uint64_t *)b->words;
	bool in_register = at >= arch->stub.batch.made && at < arch->stub.batch.written;

	if (mem_read(&space->mem, remote->t->tid, b->at, b->words, len) != len)
		return ubp_fail(err, EFAULT, "cannot read the stack of thread %d",
				(int)remote->t->tid);
	while (!is_over(b)) {
		int64_t result = (int64_t)words[place_of_result(b, b->n_made)];

		if (result == NOT_MADE && in_register &&
		    regs->r[arch->reg.sp] ==
			    b->at + (b->n_made - b->sent) * sizeof(b->words[0]))
			result = arch->call.result(regs);
		if (result == NOT_MADE)
			break;
		remote_note_result(b->steps, &b->n_made, result);
	}
	return 0;
}

/* Does it stand there, by the signal that it has sent itself behind all calls? */
static bool is_end(const struct remote *remote, const struct stop *stop,
		   const struct ubp_regs *regs)
{
	const struct space *space = remote->t->process->space;

	return stop->sig == remote->t->remote.facts.sig &&
	       regs->r[space->arch->reg.pc] == space->batch + space->arch->stub.batch.end &&
	       regs->r[space->arch->reg.sp] == remote->sp;
}

/* A signal stopped it in the batch, which it has left for that (leave_batch()). It makes the rest from where it is then. */
static int come_first(struct remote *remote, const struct stop *stop, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	int rc = remote_deliver_first(remote, stop, err);

	if (rc == 0)
		rc = remote_settle(remote, err);
	if (rc == 0)
		rc = remote_write_frame(remote, err);
	/* It may have been the last call: the thread goes on from where the signal has left it. */
	if (rc == 0)
		t->remote.called = t->remote.by_signal = true;
	return rc;
}

/* Until nothing of what was sent is left to be made; or a signal came first. */
static int await_batch(struct remote *remote, struct batch *b, struct ubp_err *err)
{
	struct tracee *t = remote->t;
	const struct space *space = t->process->space;
	struct held held = held_thread(remote->tracer, t, NULL);
	struct ubp_regs regs;
	struct stop stop;
	int rc;

	while ((rc = tracer_await(remote->tracer, t, REMOTE_LIMIT_MS, &stop)) == 1) {
		if (stop.exited || stop.event || stop.sig == (SIGTRAP | 0x80) ||
		    ubp_host_get_regs(held.tid, &regs) < 0 ||
		    regs.r[space->arch->reg.pc] - space->batch >= space->arch->stub.batch.len) {
			/* Group stops and births go their way; then it comes back. */
			tracer_dispatch(remote->tracer, &stop);
			if (!held_lasts(&held))
				return remote_has_ended(remote, held.tid, err);
			continue;
		}
		rc = read_results(remote, b, &regs, err);
		if (!is_end(remote, &stop, &regs)) {
			leave_batch(remote, b);
			return rc < 0 ? rc : come_first(remote, &stop, err);
		}
		put_back(remote, b);
		tracee_consume(t);
		t->held = t->remote.called = t->remote.by_signal = true;
		return rc;
	}
	if (rc == -ESRCH)
		return remote_has_ended(remote, held.tid, err);
	/* It may not have been allowed to send the signal: that is not tried once more. */
	t->process->space->batch = 0;
	return remote_takes_too_long(remote, err);
}

bool remote_may_batch(const struct remote *remote)
{
	const struct tracee *t = remote->t;

	return t->process->space->batch && t->remote.facts.sig && !remote->deliver &&
	       !remote->suspend && !remote->sign;
}

int remote_batch(struct remote *remote, struct remote_step *steps, size_t n, size_t *ret_n_made,
		 struct ubp_err *err)
{
	struct batch b = { .steps = steps, .n = n, .frame = remote->sp };
	const struct tracee *t = remote->t;
	int rc = 0;

	for (int i = 0; rc == 0 && !is_over(&b) && t->remote.facts.sig; i++) {
		if (i == REMOTE_SIGNALS_MAX)
			rc = ubp_fail(err, ETIMEDOUT, "thread %d gets too many signals",
				      (int)t->tid);
		else
			rc = start_batch(remote, &b, err);
		if (rc > 0)
			rc = await_batch(remote, &b, err);
	}
	*ret_n_made = b.n_made;
	return rc;
}
