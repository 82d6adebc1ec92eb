/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The clocks of trace_clock. The tracer's times are of CLOCK_MONOTONIC, and are turned into those of another clock as lines come. */

#ifndef UBP_CLI_FS_CLOCK_H
#define UBP_CLI_FS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct text;

struct fs_clock {
	const char *name;
	clockid_t id;
};

/* NULL-ended; the first one at first. */
extern const struct fs_clock fs_clocks[];

/* The time of the clock of that number that is @mono_ns of CLOCK_MONOTONIC, which was not long ago. */
uint64_t fs_clock_of(unsigned clock, uint64_t mono_ns);
/* Where the time is in a line of the tracer's: behind "NAME-TID [CPU] FLAGS ". *ret_behind: what is behind it. False: it has none. */
bool fs_line_time(const char *line, size_t len, size_t *ret_at, size_t *ret_behind);
/* A line of the tracer's, as the file trace has it, with @ns for its time. */
void fs_clock_line(const char *line, size_t len, uint64_t ns, struct text *out);

#endif
