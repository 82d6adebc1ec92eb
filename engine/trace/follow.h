/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracer runs where the tracee runs: a stop on another CPU costs two
 * wake-ups of an idle processor, several times the price of all the rest.
 */

#ifndef UBP_TRACE_FOLLOW_H
#define UBP_TRACE_FOLLOW_H

struct tracer;

/* A hit came from @cpu. Moves the calling (tracing) thread there if hits keep
 * coming from there. */
void follow_cpu(struct tracer *tracer, unsigned cpu);

/* Nothing is hot: run anywhere. */
void follow_nobody(struct tracer *tracer);

#endif
