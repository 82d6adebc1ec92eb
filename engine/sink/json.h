/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records as JSON lines. */

#ifndef UBP_SINK_JSON_H
#define UBP_SINK_JSON_H

#include "engine/sink/text.h"

/*
 * One JSON object and a newline. Keys: time (seconds, 9 digits), task, pid, tid,
 * cpu, group, event, type ("p" or "r"), ip, func and ret_ip (returns), args (an
 * object in order), stack (if taken), or {"lost":n}. Addresses and x-types are
 * strings "0x..", other numbers numbers (s64 and u64 too), failed strings null.
 * Bytes of a string that are not UTF-8 are written as \xHH.
 */
void sink_json_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record);

#endif
