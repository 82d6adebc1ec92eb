/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Errors that travel from the place that failed to the command line.
 *
 * The caller owns the record (usually one on the stack per command). Engine
 * code fills it and returns a negative errno; it never prints and never exits.
 * A record needs no destructor, so reporting "out of memory" cannot itself run
 * out of memory.
 */

#ifndef UBP_BASE_ERR_H
#define UBP_BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

#define UBP_ERR_TEXT_MAX 768

/* Longest command shown with a caret: the kernel's longest line. */
#define UBP_ERR_COMMAND_MAX 4096

struct ubp_err {
	int code;                          /* errno value, positive; 0: nothing recorded */
	unsigned line;                     /* of a text of several, from 1; 0: not known */
	bool has_caret;                    /* .command and .caret are set */
	unsigned caret;                    /* byte column in .command */
	char text[UBP_ERR_TEXT_MAX];       /* "outer: inner: cause", always NUL-ended */
	char command[UBP_ERR_COMMAND_MAX]; /* definition, words joined by one blank */
};

/* Forget what was recorded. A record must be reset before its first use. */
void ubp_err_reset(struct ubp_err *err);

/*
 * Record a failure: errno value @code (positive) and a text. Returns -@code, so
 * that a function can end with "return ubp_fail(...)". errno is preserved.
 */
__attribute__((format(printf, 3, 4))) int ubp_fail(struct ubp_err *err, int code,
						   const char *fmt, ...);

/* The same for a system call that has just failed: appends ": strerror(errno)". */
__attribute__((format(printf, 2, 3))) int ubp_fail_sys(struct ubp_err *err, const char *fmt,
						       ...);

/*
 * Put context in front of a failure already in the record ("thread 4243: " +
 * text) and return its negative code. Long texts lose their tail.
 */
__attribute__((format(printf, 2, 3))) int ubp_context(struct ubp_err *err, const char *fmt,
						      ...);

/*
 * Give a failure in the record its definition and caret. @command is copied
 * (@len bytes, cut at UBP_ERR_COMMAND_MAX - 1); @caret is a byte column in it.
 */
void ubp_err_caret(struct ubp_err *err, const char *command, size_t len, unsigned caret);

#endif
