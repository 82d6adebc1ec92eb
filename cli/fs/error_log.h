/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The file error_log: what was wrong with the last things that were written. */

#ifndef UBP_CLI_FS_ERROR_LOG_H
#define UBP_CLI_FS_ERROR_LOG_H

#include <stddef.h>

struct text;
struct ubp_err;

/* So many are kept, as in the kernel. */
#define ERROR_LOG_MAX 8

/* Zero-initialise; error_log_clear() at the end. */
struct error_log {
	char *entries[ERROR_LOG_MAX]; /* the oldest first */
	size_t n;
};

/* What @err says about a thing of kind @what ("trace_uprobe"). Nothing, if it has no place: the kernel has no entry then. */
void error_log_add(struct error_log *log, const char *what, const struct ubp_err *err);
void error_log_read(const struct error_log *log, struct text *out);
void error_log_clear(struct error_log *log);

#endif
