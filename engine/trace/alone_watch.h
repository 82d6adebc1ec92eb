/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A thread that looks after processes which nobody traces: has one ended, or does it run another program? The
 * kernel tells of an end by a descriptor of the process; of an exec nobody is told, so it looks whether the old
 * memory is still there, every ALONE_LOOK_MS. And each ALONE_BELL_MS, at a word in memory that the process shares, which
 * it changes where it wants to be traced: it makes no system call for that. What else it may wait for its owner looks at as often
 * (struct alone_bell, .tend), and more often for some time when there was something.
 */

#ifndef UBP_TRACE_ALONE_WATCH_H
#define UBP_TRACE_ALONE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ALONE_LOOK_MS 20
#define ALONE_BELL_MS 4
#define ALONE_TEND_NS 250000 /* behind something that was tended ... */
#define ALONE_TENDS   160    /* ... so often */

struct alone_watch;

/*
 * A word that a process makes another where it wants to be traced again, and what it was when nobody could do so yet. .word NULL: there
 * is none. .tend NULL: there is nothing else; it is called on the watching thread until the process is dropped, or has executed
 * a program, and tells whether there was something to do. It must not call anything of this.
 */
struct alone_bell {
	const uint64_t *word;
	uint64_t rung;
	const uint64_t *missed; /* another one, with what only a tracer could have dealt with */
	uint64_t n_missed;
	bool (*tend)(void *ctx);
	void *ctx;
};

enum alone_state {
	/* In this order: it is the process of before. */
	ALONE_LASTS,
	ALONE_RANG, /* it wants to be traced */
	/* It is not. */
	ALONE_EXECUTED, /* what is known of its memory is of the past */
	ALONE_ENDED,
};

/* @news, @ctx: called on its thread when something has become of one. NULL: no memory, or no thread. */
struct alone_watch *alone_watch_start(void (*news)(void *ctx), void *ctx);
/* It and all that it watches for; NULL is fine. */
void alone_watch_stop(struct alone_watch *watch);

/*
 * @live: a thread of process @pid that has not ended.
 * Returns 0 or a negative errno.
 */
int alone_watch_add(struct alone_watch *watch, pid_t pid, pid_t live,
		    const struct alone_bell *bell);
void alone_watch_drop(struct alone_watch *watch, pid_t pid);
/* It is known that it did: its bell is no more. */
void alone_watch_executed(struct alone_watch *watch, pid_t pid);
/* What it has rung for so far is over, and it is alone yet. */
void alone_watch_heard(struct alone_watch *watch, pid_t pid);
/* Looks itself. One that is not watched has ended. */
enum alone_state alone_watch_look(struct alone_watch *watch, pid_t pid);
/* Has something become of any of them since the last call? */
bool alone_watch_take_news(struct alone_watch *watch);

#endif
