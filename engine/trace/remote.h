/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * System calls made by a stopped thread of the target, on our behalf.
 *
 * The thread is sent through a stub that makes the call and then restores every
 * register by itself from a frame on its stack: whatever becomes of the tracer
 * in the middle, the thread ends up where it was (docs/architecture.md).
 */

#ifndef UBP_TRACE_REMOTE_H
#define UBP_TRACE_REMOTE_H

#include "arch/arch.h"
#include "engine/trace/tracer.h"

struct remote {
	struct tracer *tracer;
	struct tracee *t;
	uint64_t stub; /* where it stands in the target */
	uint64_t sp;   /* of the frame */
	int deliver;   /* signal whose stop the thread is in, passed on with the next call */
	struct ubp_regs regs;
	int nr; /* of the call that is being made, and its arguments */
	uint64_t args[6];
	enum { REMOTE_PLAIN, REMOTE_SIGN_A, REMOTE_SIGN_B } sign;
	uint64_t signing[2]; /* address, modifier */
	bool suspend;        /* the target's seccomp filter, during the calls themselves */
	bool is_entered;     /* its entry was seen */
};

/* Frames that a space has room for where they are not on stacks (struct space). */
#define REMOTE_FRAMES 4U

/*
 * Prepare held thread @t. @at: registers it goes on with afterwards (as at its
 * stop, but for a pc that the caller wants elsewhere; not looked at if the thread has
 * made remote calls since that stop); @stub: address of the stub's code, written
 * there before. Returns 0 or -errno; -EACCES: a seccomp filter may kill it for our
 * calls.
 */
int remote_begin(struct remote *remote, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, uint64_t stub, struct ubp_err *err);

/*
 * One system call. *ret_result is what the kernel returned (negative errno for a
 * failure). May be repeated. Afterwards the thread is stopped, held. Returns 0,
 * -ESRCH when the thread died, -ETIMEDOUT: then it runs, and finishes alone.
 *
 * A signal that comes before the call is made is delivered first, to the thread as
 * it was at its stop, and the call made from where it is then. So remote->sp may
 * have changed; @args that point into the frame are moved with it.
 */
int remote_call(struct remote *remote, int nr, const uint64_t args[6], int64_t *ret_result,
		struct ubp_err *err);

/*
 * Have the thread sign @address with @modifier, by key A (@key 0) or B (1) of its instruction keys
 * (ubp_arch.stub_sign). Returns as remote_call(); without such keys it is signed by nothing.
 */
int remote_sign(struct remote *remote, uint64_t address, uint64_t modifier, int key,
		uint64_t *ret_signed, struct ubp_err *err);

/*
 * No more calls: from now on the thread is an ordinary held one; it goes on where it
 * was when it is let go.
 */
void remote_end(struct remote *remote);

#endif
