/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The stacks of records. */

#ifndef UBP_SINK_STACK_H
#define UBP_SINK_STACK_H

#include "engine/sink/text.h"

/* A line for each entry; of what was inlined there, too. See sink_text_line(). */
void sink_text_stack(struct sink_buf *buf, const struct event_record *record,
		     const struct sink_text_options *opt);

/*
 * The stack as flame graphs take it, without newline and count: "comm;main;parse", the outermost
 * first, inlined functions marked "_[i]". Where no function is known there is "[libc.so.6]"
 * with the file's last name, "[unknown]" without one. @resolver NULL: addresses.
 */
void sink_folded(struct sink_buf *buf, const struct event_record *record,
		 const struct sink_resolver *resolver);

#endif
