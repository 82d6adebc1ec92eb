/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records as JSON lines. */

#ifndef UBP_SINK_JSON_H
#define UBP_SINK_JSON_H

#include "engine/sink/sink.h"

/*
 * One JSON object and a newline. Keys, in this order: time (seconds, 9 digits),
 * task, pid, tid, cpu, group, event, type ("p" or "r"), ip (entries) or func and
 * ret_ip (returns), args (an object, in order), stack (if taken). EVENT_LOST is
 * {"lost":n} (@probe may be NULL).
 *
 * Addresses and x-types are strings "0x..", other numbers are numbers (s64 and
 * u64 too: beyond 2^53 some readers lose digits), but inf and nan are strings; so are
 * numbers that have names (the name); chars are strings of one character, arrays are
 * arrays, strings that could not be read are null. A byte that is not UTF-8 becomes the
 * four characters \xHH; a backslash of the string itself is not marked, so the text \xHH
 * cannot be told from it.
 *
 * A stack is an array, innermost first: of addresses; with @resolver of objects, with those keys
 * that are known: addr, function, offset (a number, in the function), file, file_addr (in
 * the file, as linked), source, line, inlined (true, or not there).
 */
void sink_json_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_resolver *resolver);

/*
 * The last value of a row of a histogram that has @width values from @first on: no value is more than all numbers are, and where
 * they are signed no row has numbers of both signs.
 */
uint64_t sink_range_last(uint64_t first, uint64_t width, bool is_signed);
/* {"from":FIRST,"to":LAST}, numbers: a row of a histogram. @is_signed: they are to be seen as int64_t. */
void sink_json_range(struct sink_buf *buf, uint64_t first, uint64_t last, bool is_signed);
/* The functions of a stack of sink_folded_frames(), the innermost first: an array. NULL: an empty one. */
void sink_json_functions(struct sink_buf *buf, const char *stack);
/* A string of JSON, with its quotes: bytes as told above. */
void sink_json_quoted(struct sink_buf *buf, const void *bytes, size_t len);
/* The args as an object. */
void sink_json_args(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record);

#endif
