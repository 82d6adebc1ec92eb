/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The stacks of records as text, and how text is to look. */

#ifndef UBP_SINK_STACK_H
#define UBP_SINK_STACK_H

#include <stdbool.h>

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/sink/frame.h"
#include "engine/sink/stamp.h"

struct sink_text_options {
	/* Strings, chars and names as engine/base/escape.h has it; else raw, as the kernel prints them. */
	bool escape;
	/* Names for stacks; NULL: addresses only, as the kernel prints them. */
	const struct sink_resolver *resolver;
	/* Of the event that is printed; NULL: its time as the kernel has it. */
	const struct sink_stamps *stamps;
	bool colour; /* for a terminal */
};

/* A line for each entry; of what was inlined there, too. See sink_text_line(). */
void sink_text_stack(struct sink_buf *buf, const struct event_record *record,
		     const struct sink_text_options *opt);

#endif
