/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "folded": equal stacks, counted, a line "STACK COUNT" each, sorted by stack, once all
 * is over. Flame graphs take that. Of lost events it tells nothing: sink.n_untold counts them.
 */

#ifndef UBP_SINK_FOLDED_H
#define UBP_SINK_FOLDED_H

#include "engine/sink/sink.h"

/*
 * A stack as one line without newline and count: "comm;main;parse", the outermost first,
 * inlined functions marked "_[i]". Where no function is known there is "[libc.so.6]" with the
 * file's last name, "[unknown]" without one. @resolver NULL: addresses.
 */
void sink_folded_stack(struct sink_buf *buf, const struct event_record *record,
		       const struct sink_resolver *resolver);
/* The same without the thread's name: "main;parse". */
void sink_folded_frames(struct sink_buf *buf, const struct event_record *record,
			const struct sink_resolver *resolver);

#endif
