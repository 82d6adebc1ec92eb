/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The library's functions, each as a call with random arguments, for api_calls: files by subject, and one table of all (table.def). A call takes what it
 * needs from what there is now: a session, an event, a hit.
 */

#ifndef UBP_TESTS_TOOL_CALLS_H
#define UBP_TESTS_TOOL_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_handler.h"

#define ARRAY_N(v) (sizeof(v) / sizeof((v)[0]))
#define ONE_OF(v)  ((v)[any(ARRAY_N(v))])

/* Of the thread that makes calls: the caller's, or one that runs handlers. */
struct calls_here {
	uint64_t seed;
	const char *now; /* the call that is being made */
	struct ubp_err err;
	const struct ubp_event *event; /* in a callback, or a copy; else NULL */
	struct ubp_hit *hit;           /* in a handler */
	bool may_change;               /* as the handler's probe was added */
};
extern _Thread_local struct calls_here here;

/* What all calls are about. */
struct calls_target {
	pid_t pid;
	const char *program;
	struct ubp_session *session;
	bool is_callback; /* its events are being handed out */
	unsigned long n_calls, n_failed, n_events, n_hits;
	char definitions[13][1024]; /* the first ones are right */
};
extern struct calls_target target;

/* Of a clock that has no other use. */
double seconds(void);
/* From 0 to @n - 1. */
unsigned any(unsigned n);
/* One time in @n. */
static inline bool seldom(unsigned n)
{
	return any(n) == 0;
}

_Noreturn void fail(const char *what, int64_t rc);
/* What a call returned that tells why it failed. True: it has not. */
bool is_well(int64_t rc);
/* Of one that has no text for it. */
void is_code(int64_t rc);
/* Of one that must fail here. */
void is_refused(int64_t rc);

/* Arguments, some of them wrong. The text may be NULL. */
const char *a_text(const char *const *right, size_t n_right);
#define A_TEXT(v) a_text(v, ARRAY_N(v))
const char *a_definition(void);
const char *a_filter(void);
const char *an_event(void);
const char *a_path(void);
size_t a_number(void);
uint64_t a_word(void);
pid_t a_pid(void);
/* Reads all of it, so that what is not there shows. */
void look_at(const char *text, size_t len);
void look_at_text(const char *text);

int on_event(void *ctx, const struct ubp_event *event);
enum ubp_verdict on_hit(void *cookie, struct ubp_hit *hit);
enum ubp_verdict on_hit_that_may_change(void *cookie, struct ubp_hit *hit);

/* Where a function may be called, right or wrong. */
enum calls_place {
	AT_HOME = 1,  /* between two dispatches */
	AT_EVENT = 2, /* in a callback */
	AT_HIT = 4,   /* in a handler */
	BY_CALLER = AT_HOME | AT_EVENT,
	ANYWHERE = AT_HOME | AT_EVENT | AT_HIT,
};

/* What it is about: a session is mostly about a few of these. */
enum calls_subject {
	SESSION,
	LIVE,
	HIT,
	EVENT,
	TRIGGER,
	COUNTS,
	RECORD,
	SINK,
	FILES,
	SUBJECTS
};

struct calls_row {
	const char *name;
	void (*call)(void);
	enum calls_subject subject;
	unsigned places;
};
extern const struct calls_row calls_table[];
extern const size_t calls_n;

/* One of the table, or nothing, where what was picked may not be called here. 0 for the subject of any. */
void call_one(enum calls_place place, unsigned subjects);

/* What is freed before the session is: sinks, meters, recordings, copies of events. */
void counts_forget(void);
void sinks_forget(void);
void events_forget(void);

#define CALL(name)                 void call_##name(void)
#define ROW(name, subject, places) CALL(name);
#define LEFT_OUT(name, why)
#include "tests/tool/calls/table.def"
#undef ROW
#undef LEFT_OUT

#endif
