/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A line on the terminal tells what takes so long. It appears after a second and is renewed each second. It goes when the work is over. Messages stand above it. There is none where
 * standard error is no terminal, or the terminal of another job.
 */

#ifndef UBP_CLI_COMMON_BUSY_H
#define UBP_CLI_COMMON_BUSY_H

/* From here on; the first text. A thread prints it. */
__attribute__((format(printf, 1, 2))) void busy_begin(const char *fmt, ...);
/* It is something else now. */
__attribute__((format(printf, 1, 2))) void busy_with(const char *fmt, ...);
void busy_end(void);

#endif
