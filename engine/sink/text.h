/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Records as the kernel's tracer prints them (fetchargs 6 and 7).
 */

#ifndef UBP_SINK_TEXT_H
#define UBP_SINK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/event/record.h"
#include "engine/spec/spec.h"

/* A text buffer that grows. Zero-initialise; free with sink_buf_free(). */
struct sink_buf {
	char *data;
	size_t len, cap;
	int failed; /* -ENOMEM after a failed growth; then further text is dropped */
};

void sink_buf_add(struct sink_buf *buf, const void *data, size_t len);
__attribute__((format(printf, 2, 3))) void sink_buf_printf(struct sink_buf *buf,
							   const char *fmt, ...);
void sink_buf_free(struct sink_buf *buf);

struct sink_text_options {
	bool escape; /* for a terminal: control bytes in strings as \ooo */
};

/* " a=1 b=\"x\"": the args of a hit. */
void sink_text_args(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt);

/* A whole line with its newline, and the stack lines if the record has any.
 * EVENT_LOST records become "CPU:? [LOST n EVENTS]" (probe may be NULL). */
void sink_text_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt);

/* The header of a trace file (option -H): 11 lines, as the kernel's trace_pipe
 * readers know them. @n_cpus for "#P:". */
void sink_text_header(struct sink_buf *buf, uint64_t n_entries, uint64_t n_written,
		      unsigned n_cpus);

#endif
