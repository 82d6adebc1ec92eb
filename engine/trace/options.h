/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is to be told of threads (tracer.options), where that changes while they are traced. */

#ifndef UBP_TRACE_OPTIONS_H
#define UBP_TRACE_OPTIONS_H

struct tracer;

/*
 * Threads that were seized with other options get those that the tracer has now: each is stopped for that, and one that can't
 * be keeps what it has. Stops of all are handled meanwhile.
 */
void options_apply(struct tracer *tracer);

#endif
