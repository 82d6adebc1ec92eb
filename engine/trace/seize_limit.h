/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * PTRACE_SEIZE with a time limit. The kernel takes a lock of the process for it (cred_guard_mutex). A thread that
 * executes a program holds that lock until the file's first bytes have been read and the other threads have ended.
 * Where the file lies on FUSE, or another machine, that may be for ever.
 *
 * A signal breaks the call off, and the kernel makes it again behind the handler of that, so the handler leaves by
 * siglongjmp(). The signal is a real-time signal whose action is the default one, the highest that there is. It
 * comes by a timer, to this thread alone, which lets it in during the call only. Its action is ours from
 * seize_limit_begin() to seize_limit_end(), and the default one again then. If somebody else turns out to use that
 * signal he gets what was his, and another one is taken.
 */

#ifndef UBP_TRACE_SEIZE_LIMIT_H
#define UBP_TRACE_SEIZE_LIMIT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* For one thread, between begin and end. */
struct seize_limit {
	int sig; /* 0: none can be had */
	timer_t timer;
};

/* Returns 0, -EAGAIN: no signal is free; or another -errno: there is no timer. */
int seize_limit_begin(struct seize_limit *limit);
void seize_limit_end(struct seize_limit *limit);

/*
 * Seize thread @tid. Returns 0 or -errno; -ETIMEDOUT: it took @ns, and the thread is not seized.
 * -EAGAIN, or another error of seize_limit_begin(): there is no limit to be had any more, and nothing was tried.
 */
int seize_limit_try(struct seize_limit *limit, pid_t tid, unsigned long options, uint64_t ns);

#endif
