/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Errors that travel from the place that failed to the command line: how they are recorded. The record itself is public.
 * What is recorded as text is escaped (engine/base/escape.h): there are names in it that others chose.
 */

#ifndef UBP_BASE_ERR_H
#define UBP_BASE_ERR_H

#include <stddef.h>

#include "engine/ubp_err.h"

/*
 * Record a failure: errno value @code (positive) and a text. Returns -@code, so
 * that a function can end with "return ubp_fail(...)". errno is preserved.
 */
__attribute__((format(printf, 3, 4))) int ubp_fail(struct ubp_err *err, int code,
						   const char *fmt, ...);

/* 0; -EINVAL, "no WHAT is given", where a caller gave NULL for it. */
int ubp_need(const void *given, const char *what, struct ubp_err *err);

/* Record the failure of a system call, just now: appends ": strerror(errno)" to the text, and returns -errno. */
__attribute__((format(printf, 2, 3))) int ubp_fail_sys(struct ubp_err *err, const char *fmt,
						       ...);

/*
 * Put context in front of a failure already in the record ("thread 4243: " +
 * text) and return its negative code. Long texts lose their tail.
 */
__attribute__((format(printf, 2, 3))) int ubp_context(struct ubp_err *err, const char *fmt,
						      ...);

/* More behind the text of a failure already in the record. */
__attribute__((format(printf, 2, 3))) void ubp_err_append(struct ubp_err *err, const char *fmt,
							  ...);

/* What a person may have meant, for a failure already in the record, which keeps its text: that may be the kernel's. */
__attribute__((format(printf, 2, 3))) void ubp_err_hint(struct ubp_err *err, const char *fmt,
							...);

/*
 * Give a failure in the record its definition and caret. @command is copied
 * (@len bytes, cut at UBP_ERR_COMMAND_MAX - 1); @caret is a byte column in it.
 */
void ubp_err_caret(struct ubp_err *err, const char *command, size_t len, unsigned caret);

#endif
