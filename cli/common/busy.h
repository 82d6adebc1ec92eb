/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A line on the terminal, in front of which somebody waits, that tells what takes so long: from the second second on, anew each second, gone when it is over; messages stand above it. Where standard
 * error is no terminal, or that of another job, there is none.
 */

#ifndef UBP_CLI_COMMON_BUSY_H
#define UBP_CLI_COMMON_BUSY_H

/* From here on; the first text. A thread prints it. */
__attribute__((format(printf, 1, 2))) void busy_begin(const char *fmt, ...);
/* It is something else now. */
__attribute__((format(printf, 1, 2))) void busy_with(const char *fmt, ...);
void busy_end(void);

#endif
