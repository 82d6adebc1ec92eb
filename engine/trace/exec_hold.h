/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Holding those who execute a probed program (fanotify's FAN_OPEN_EXEC_PERM), and those whose loader
 * opens a probed library (FAN_OPEN_PERM), until they are traced: so none of them runs a single
 * instruction of it before its probes stand. It takes CAP_SYS_ADMIN, and a kernel with
 * CONFIG_FANOTIFY_ACCESS_PERMISSIONS.
 *
 * The kernel asks whether the file may be opened, and the thread waits for the answer. The answer is
 * always yes, and it has to come whatever becomes of us. So a child of ours, the holder, has the
 * only descriptor: it answers when the tracer says that it has the thread, or when EXEC_HOLD_MS
 * have passed: some times that, as long as the tracer is seen to be at work, or to wait for a processor.
 * When the tracer is gone, the holder ends. When the holder ends, the kernel says yes.
 *
 * Who opens a library for another reason, and whom the tracer has already, is answered at once. So is our
 * own process: it reads such files, and does so while the tracer works.
 */

#ifndef UBP_TRACE_EXEC_HOLD_H
#define UBP_TRACE_EXEC_HOLD_H

#include <stdbool.h>
#include <sys/types.h>

#define EXEC_HOLD_MS 1000

struct exec_hold;

/* @tracer: the tracing thread. NULL: not permitted, not built in, or out of memory. */
struct exec_hold *exec_hold_new(pid_t tracer);
/* Frees it, when neither the finder nor the tracer uses it any more. NULL is fine. */
void exec_hold_free(struct exec_hold *hold);

/*
 * Hold who executes the file at @fd; with @is_library, whose loader opens it. False: that is not possible
 * there. From now on, until exec_hold_begin(), who opens such a library waits: so do we.
 */
bool exec_hold_add(const struct exec_hold *hold, int fd, bool is_library);

/*
 * The same once the holder has started, on any thread while @hold is there: it is asked, and answers at once. *ret_is_late: it has not within
 * EXEC_HOLD_ADD_MS, and may hold them some time later.
 */
#define EXEC_HOLD_ADD_MS 100
bool exec_hold_add_more(const struct exec_hold *hold, int fd, bool is_library,
			bool *ret_is_late);

/*
 * Start the holder, and end it. Both on one thread: only that one can be sure to reap it. Until
 * it is started execs wait; once it has ended, nothing is held.
 */
bool exec_hold_begin(struct exec_hold *hold);
void exec_hold_end(struct exec_hold *hold);

enum exec_hold_purpose {
	EXEC_HOLD_EXECUTES,
	EXEC_HOLD_LOADS, /* its loader opens a library */
	EXEC_HOLD_READS, /* it opens one for another reason, it seems: never held */
};

enum exec_hold_fate {
	EXEC_HOLD_WAITS,  /* it waits for us */
	EXEC_HOLD_PASSED, /* it went on at once: there is no room, or we did not answer before */
	EXEC_HOLD_EARLY,  /* it was told of as waiting, and went on before exec_hold_done() */
};

/* A thread is about to open such a file, or has opened it without waiting for us. */
struct exec_hold_news {
	pid_t tid;
	enum exec_hold_purpose purpose;
	enum exec_hold_fate fate;
	unsigned n_untold; /* others that went on before: there was no room to tell of them */
};

/* Readable when there is news; -1: it has ended. */
int exec_hold_fd(const struct exec_hold *hold);
/* The next of it. False: there is none. Does not block. */
bool exec_hold_next(struct exec_hold *hold, struct exec_hold_news *ret_news);
/* If somebody has stopped the holder (SIGSTOP), it shall go on. */
void exec_hold_wake(const struct exec_hold *hold);

/*
 * The tracer is about to seize @tid; and it has, or has not: it goes on. Seizing waits where the
 * kernel asks in the middle of the exec (for the interpreter of a script; before Linux 6.8 for
 * all), until the thread goes on: so it does when the tracer is seen to wait for that, and for nothing else.
 */
void exec_hold_taking(const struct exec_hold *hold, pid_t tid);
void exec_hold_done(const struct exec_hold *hold, pid_t tid);

#endif
