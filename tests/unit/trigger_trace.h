/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The trace and the snapshot that triggers act on, for tests: lines as the corpus of triggers has them. */

#ifndef TESTS_UNIT_TRIGGER_TRACE_H
#define TESTS_UNIT_TRIGGER_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/trigger/set.h"

struct trace_item {
	char *text; /* with newlines inside; none at the end */
	bool is_kept;
};

struct trace_buffer {
	struct trace_item **items;
	size_t n;
};

struct trigger_trace {
	struct trigger_set *set;
	struct trace_buffer now, snapshot;
};

/* .ctx is a struct trigger_trace. */
extern const struct trigger_out trigger_trace_out;

void trigger_trace_free(struct trigger_trace *trace);

#endif
