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

#include "engine/trace/remote_state.h"

struct held;

/*
 * Prepare a held thread. held->at: registers it goes on with afterwards (as at its
 * stop, but for a pc that the caller wants elsewhere; not looked at if the thread has
 * made remote calls since that stop); @stub: address of the stub's code, written
 * there before. Returns 0 or -errno; -EACCES: a seccomp filter may kill it for our
 * calls; -ESTALE: @stub is 0, as in a program that was executed a moment ago.
 */
int remote_begin(struct remote *remote, const struct held *held, uint64_t stub,
		 struct ubp_err *err);

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
 * @n system calls (REMOTE_STEPS at most), one after the other, up to one that fails. *ret_n_made: how many were
 * made; the result of the last tells whether it failed. Returns as remote_call().
 *
 * Where it can be done the thread stops only behind the last one (docs/architecture.md). If we are killed meanwhile
 * it makes all of them, and goes on from where it was.
 */
int remote_calls(struct remote *remote, struct remote_step *steps, size_t n, size_t *ret_n_made,
		 struct ubp_err *err);

/*
 * Have the thread sign @address with @modifier, by key A (@key 0) or B (1) of its instruction keys
 * (ubp_arch.stub.sign). Returns as remote_call(); without such keys it is signed by nothing.
 */
int remote_sign(struct remote *remote, uint64_t address, uint64_t modifier, int key,
		uint64_t *ret_signed, struct ubp_err *err);

/*
 * No more calls: from now on the thread is an ordinary held one; it goes on where it
 * was when it is let go.
 */
void remote_end(struct remote *remote);

#endif
