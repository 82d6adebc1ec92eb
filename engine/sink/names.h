/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers that have names (spec_arg.names), as gdb prints enumerations. */

#ifndef UBP_SINK_NAMES_H
#define UBP_SINK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/spec/spec.h"

/*
 * Append the name of element @i of @arg: RUNNING; of flags that have none together
 * (READ | WRITE), (READ | unknown: 0x40). False, and nothing is done: it has none, and
 * is to be printed as the number it is.
 */
bool sink_add_name(struct sink_buf *buf, const struct event_record *record,
		   const struct spec_arg *arg, size_t i);

#endif
