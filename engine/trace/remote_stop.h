/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Of a thread that makes remote calls: its frame, and what may come first or instead. Of remote.c and remote_batch.c. */

#ifndef UBP_TRACE_REMOTE_STOP_H
#define UBP_TRACE_REMOTE_STOP_H

#include "engine/trace/remote_state.h"
#include "engine/trace/wait.h"

#define REMOTE_LIMIT_MS    10000
#define REMOTE_SIGNALS_MAX 1000 /* delivered before one call is made */

/* The frame is written, anew after the thread was elsewhere; remote->sp and remote->regs tell of it. 0 or -errno. */
int remote_write_frame(struct remote *remote, struct ubp_err *err);
/* Arguments @args that point into the frame when it was at @sp, for the one it has now; others are the same. */
void remote_move_args(const struct remote *remote, const uint64_t args[6], uint64_t sp,
		      uint64_t ret_moved[6]);

/* -ESRCH, with a text. */
int remote_has_ended(struct remote *remote, pid_t tid, struct ubp_err *err);
/* -ETIMEDOUT, with a text; the thread goes on by itself. */
int remote_takes_too_long(const struct remote *remote, struct ubp_err *err);

/*
 * A signal came first. Its handler might take long, never return, or expect
 * that the system call the thread was in is broken off: it gets the signal where it
 * was (tracee_put_before()), and is held again. Returns 0 or -errno.
 */
int remote_deliver_first(struct remote *remote, const struct stop *stop, struct ubp_err *err);
/*
 * Where the registers don't tell whether the kernel is about to make a whole call or the rest
 * of one, the call it enters does. The thread is left at that entry: nothing has happened yet. Returns 0 or -errno.
 */
int remote_settle(struct remote *remote, struct ubp_err *err);

#endif
