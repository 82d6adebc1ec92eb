/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Records as the kernel's tracer prints them.
 */

#ifndef UBP_SINK_TEXT_H
#define UBP_SINK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/sink/stack.h"
#include "engine/spec/spec.h"

/* The value of one arg alone: 1, "x", {1,2}, 0.5, RUNNING. */
void sink_text_value(struct sink_buf *buf, const struct spec_arg *arg,
		     const struct event_record *record, const struct sink_text_options *opt);

/*
 * " a=1 b=\"x\"": the args of a hit. Strings and chars not escaped are raw bytes, as the
 * kernel prints them: newlines, NULs of chars. Quotes are raw in either case.
 */
void sink_text_args(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt);

/*
 * A whole line with its newline:
 *
 *             task-4242    [001] .....  3927.545993: event: (0x401136) a=0x1
 *
 * If the record has a user stack, as ftrace's userstacktrace shows it follows: a
 * second line "...: <user stack trace>", then " =>  <0000000000401136>" for each
 * entry. With a resolver:
 *
 *      => parse (inlined) (/usr/bin/x) src/x.c:7     inlined into the next
 *      => main+0x1c (/usr/bin/x) src/x.c:12          where the source is known
 *      => 0x7f0012345678 (/usr/lib/x.so+0x1234)      no function is known
 *      => 0x7f0012345678 (//anon)                    no file
 *
 * EVENT_LOST records become "[LOST n EVENTS]" (@probe may be NULL).
 */
void sink_text_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt);

/*
 * The header of a trace file (option -H): 12 lines, as a current kernel writes
 * them. @n_cpus for "#P:".
 */
void sink_text_header(struct sink_buf *buf, uint64_t n_entries, uint64_t n_written,
		      unsigned n_cpus);

#endif
