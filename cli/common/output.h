/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where the trace goes: lines gather in a buffer and are written when the caller
 * says so. Writing to a pipe or terminal never blocks: what a slow reader does
 * not take stays in the buffer, and the caller polls, signals included.
 */

#ifndef UBP_CLI_COMMON_OUTPUT_H
#define UBP_CLI_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct ubp_err;

struct output {
	int fd;           /* -1: closed */
	const char *name; /* for messages; borrowed */
	bool is_file;     /* a regular one, whose path .name is */
	bool is_tty;
	bool can_vanish; /* a pipe, socket or terminal: worth polling for its end */
	bool small;      /* could not be made non-blocking: poll before each piece */
	bool is_old;     /* a file with what an earlier run has written */
	bool hold;       /* keep all in memory for now */
	bool raw;        /* lines are not escaped; never to a terminal: see output_raw() */
	char *data;
	size_t len, cap, sent; /* [sent, len) waits */
	int error;             /* first errno; then nothing is written any more */
};

/* @path NULL: standard output. Returns 0 or a negative errno. A file keeps what is in it. */
int output_open(struct output *out, const char *path, struct ubp_err *err);

/* All stands that a trace needs: what an earlier one left in the file goes now. */
void output_begin(struct output *out);

/* In place of output_begin(): what is in the file stays, and more comes behind it, whoever else writes there. */
void output_append(struct output *out);

/*
 * What waits is written; then go on in the file that has the name now, behind what is in it: for who renames files while they are written.
 * Returns 0; or a negative errno, and goes on where it was. Does nothing where the file is not a regular one.
 */
int output_reopen(struct output *out, struct ubp_err *err);

/* What was not written is dropped. A failing close(2) counts as a failed write. */
void output_close(struct output *out);

/*
 * Write what can be written, close, say what went wrong if anything did. A reader
 * that has gone is fine. Returns CLI_OK or CLI_FAILED.
 */
int output_finish(struct output *out);
/* Write all that waits, as slowly as the reader takes it. False: an error, now or earlier, see .error. */
bool output_drain(struct output *out);
/* output_finish() that waits for a slow reader. */
int output_wait(struct output *out);

void output_add(struct output *out, const void *data, size_t len);
__attribute__((format(printf, 2, 3))) void output_printf(struct output *out, const char *fmt,
							 ...);

/*
 * A line, without its newline in @fmt, with names that others chose in it: escaped (engine/base/escape.h),
 * but for tabs, or raw where output_raw() has said so.
 */
__attribute__((format(printf, 2, 3))) void output_line(struct output *out, const char *fmt,
						       ...);
/* For an open one: names as they are (--strict), if this is no terminal. */
void output_raw(struct output *out, bool raw);

/* Write what can be written now. False: an error, now or earlier, see .error. */
bool output_flush(struct output *out);

/* Bytes that wait for output_flush(). */
size_t output_pending(const struct output *out);

/* Take the result of poll(2) on .fd: an error there means the reader has gone. */
void output_polled(struct output *out, short revents);

/*
 * What another program is to read is not mixed with what a command prints: standard output is standard error until output_take_back(), for
 * a command that comes into being meanwhile. Returns what that takes; -1: nothing was done.
 */
int output_lend(void);
void output_take_back(int ours);

#endif
