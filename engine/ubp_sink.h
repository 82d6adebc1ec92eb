/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: a whole trace as bytes to be written, in one of several forms.
 *
 *	ubp_sink_new(session, &options, &sink, &err);
 *	write(ubp_sink_begin(sink, &len))
 *	in ubp_dispatch()'s function: write(ubp_sink_event(sink, event, &len))
 *	after ubp_stop() and the last ubp_dispatch(): write(ubp_sink_end(sink, &len))
 *	ubp_sink_free(sink);
 */

#ifndef UBP_SINK_H
#define UBP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ubp_sink_form {
	const char *
		name; /* "text": as the kernel's tracer prints; "json": an object for each event;
			   * "folded": equal stacks counted, at the end; "html": a page to look at, "flame" and "heat":
			   * a flame graph and a heat map, as SVG, at the end; "otlp": each line
			   * a request to an OpenTelemetry collector: spans, log records; "csv", "chrome", "perfetto", "pprof",
			   * "ctf": for other programs; "tree": calls below those that made them, as they begin and end; "stats", "stats-json": of calls, at the end */
	bool is_data;    /* for programs: no other line may stand between what it gives */
	bool has_header; /* it can begin with one: ubp_sink_options.header */
	bool is_binary;  /* not for terminals */
	bool is_whole; /* it is one thing, of which the end must not be missing: nothing can be appended */
	/* It is a folder of two files: what the functions below give, and ubp_sink_beside(). NULL: it is one file. */
	const char *file, *file_beside;
	bool can_diff;    /* ubp_sink_diff() is for it */
	bool needs_stack; /* it prints stacks and nothing else: see ubp_options.stack */
};

/* The form of a name. False: there is none. */
bool ubp_sink_form(const char *name, struct ubp_sink_form *ret_form);

/* When an event of a text was. */
enum ubp_sink_time {
	UBP_SINK_TIME_KERNEL,   /* seconds of the session's clock, as the kernel prints them */
	UBP_SINK_TIME_RELATIVE, /* since the first event */
	UBP_SINK_TIME_DELTA,    /* since the event before */
	UBP_SINK_TIME_CLOCK,    /* "14:03:12.000123", local time of day */
	UBP_SINK_TIME_NONE,
};

struct ubp_sink_options {
	const char *form; /* its name */
	bool raw; /* text: strings and names as the kernel prints them; else escaped: see ubp_event.h */
	bool header; /* text: the kernel's header of a trace in front */
	const char *
		service; /* "otlp": what a process is called as a service; NULL: its name. Borrowed */
	enum ubp_sink_time time; /* text */
	bool colour;             /* text: for a terminal */
};

struct ubp_sink;

/* Of @session, which must live longer. Returns 0, -EINVAL (no such form) or -ENOMEM. */
int ubp_sink_new(struct ubp_session *session, const struct ubp_sink_options *options,
		 struct ubp_sink **ret_sink, struct ubp_err *err);
void ubp_sink_free(struct ubp_sink *sink);

/*
 * What is to be written next: in front of all, for an event (a gap, too), for @n events that the
 * caller did not keep, behind all. The bytes belong to @sink until its next call; with .raw, strings
 * may hold any byte. *ret_len 0: nothing.
 */
const char *ubp_sink_begin(struct ubp_sink *sink, size_t *ret_len);
const char *ubp_sink_event(struct ubp_sink *sink, const struct ubp_event *event,
			   size_t *ret_len);
const char *ubp_sink_lost(struct ubp_sink *sink, uint64_t n, size_t *ret_len);
/* What the form keeps until there is more of it ("otlp"), for those who do not want to wait. */
const char *ubp_sink_flush(struct ubp_sink *sink, size_t *ret_len);
const char *ubp_sink_end(struct ubp_sink *sink, size_t *ret_len);

/* Of a form that is a folder: the second file, behind ubp_sink_end(). As those above. */
const char *ubp_sink_beside(struct ubp_sink *sink, size_t *ret_len);

/*
 * Of two sinks of one form that can compare (.can_diff), behind ubp_sink_end(): how the traces differ. The bytes belong to @new until its
 * next call.
 */
const char *ubp_sink_diff(struct ubp_sink *old, struct ubp_sink *new_sink, size_t *ret_len);

/* Lost events that what was given does not tell of: "folded" has no place for them, and there
 * may have been no memory for a line. */
uint64_t ubp_sink_untold(const struct ubp_sink *sink);
/* Memory was short: what was given is not all. */
bool ubp_sink_is_short(const struct ubp_sink *sink);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
