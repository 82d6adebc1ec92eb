/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Addresses to names. For the thread that prints. */

#ifndef UBP_STACK_SYMBOLISE_H
#define UBP_STACK_SYMBOLISE_H

#include <stdbool.h>

#include "engine/object/debug.h"
#include "engine/sink/frame.h"

struct stack_maps_set;
struct ubp_err;

/* Opaque: files that were met, opened once, in the root of the process they were met in. */
struct symboliser;

/* @lines: source lines and inlined functions too (DWARF). @maps and @debug stay the caller's. */
int symboliser_new(struct stack_maps_set *maps, const struct object_debug_options *debug,
		   bool lines, struct symboliser **ret_symboliser, struct ubp_err *err);
void symboliser_free(struct symboliser *symboliser);

/* sink_resolver.resolve; @ctx is the symboliser. */
size_t symboliser_resolve(void *ctx, const struct event_record *record, size_t i,
			  struct sink_frame frames[SINK_FRAMES_MAX]);

#endif
