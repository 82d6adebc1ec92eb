/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A stopped thread that may be worked with. While somebody waits for it - a remote call does, so does who stops the
 * others - stops of all threads are handled: the thread may end, or execute another program, and its struct tracee be
 * freed. So a function that works on a stopped thread takes this in place of the thread, and asks held_lasts() behind
 * each call that may wait, before it touches .t again.
 */

#ifndef UBP_TRACE_HELD_H
#define UBP_TRACE_HELD_H

#include <stdbool.h>
#include <sys/types.h>

struct tracee;
struct tracer;
struct ubp_regs;

struct held {
	struct tracer *tracer;
	struct tracee *t; /* as long as held_lasts() */
	pid_t tid;
	unsigned program; /* how many it had executed when it was held */
	/* What it goes on with, the caller's; NULL: the registers that it has. */
	const struct ubp_regs *at;
};

/* Thread @t, which is stopped now. @at lives as long as what is returned. */
struct held held_thread(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at);

/* Is it traced still, and does it run the same program? If not, it is gone for whoever held it. */
bool held_lasts(const struct held *held);
/* Is it gone, and has not ended? Then it has executed another program. */
bool held_has_executed(const struct held *held);

/*
 * It is kept in its stop, so that nobody who stops others waits for it. @keep false: by nobody any more (a remote call keeps
 * it), so whoever handles that stop lets it go on. Nothing happens to a thread that is gone.
 */
void held_keep(const struct held *held, bool keep);
/* As attach_let_go(), unless it is gone. */
void held_let_go(const struct held *held);

/* Has @t executed a program since it is traced? */
bool tracee_has_executed(const struct tracee *t);

#endif
