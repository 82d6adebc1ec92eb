/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* When an event was, as text for people: not as the kernel has it, which is sink/text.c's business. */

#ifndef UBP_SINK_STAMP_H
#define UBP_SINK_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum sink_time {
	SINK_TIME_KERNEL,   /* seconds of the records' clock */
	SINK_TIME_RELATIVE, /* since the first event */
	SINK_TIME_DELTA,    /* since the one before */
	SINK_TIME_CLOCK,    /* of day, local */
	SINK_TIME_NONE,
};

#define SINK_STAMP_MAX 32

/* Zeroed, but for .kind and .to_real. */
struct sink_stamps {
	enum sink_time kind;
	uint64_t to_real; /* what a record's time lacks of CLOCK_REALTIME */
	bool has_first;
	uint64_t first_ns, last_ns;
	time_t second;  /* of which .of_day is the text */
	char of_day[8]; /* "HH:MM:SS" */
	char text
		[SINK_STAMP_MAX]; /* of the last one, with ": " behind it, but for SINK_TIME_NONE: "" */
	size_t len;
};

/* The next event, in the order in which they are printed. */
void sink_stamps_next(struct sink_stamps *stamps, uint64_t time_ns);

#endif
