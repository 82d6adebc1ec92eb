/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread to poke memory through, where /proc/PID/mem may not be written; or all of them, so that nobody changes it. */

#ifndef UBP_TRACE_STOP_ONE_H
#define UBP_TRACE_STOP_ONE_H

#include <stdbool.h>
#include <sys/types.h>

struct space;
struct tracer;

/* For struct mem_pokes. */
pid_t stop_one(const struct space *space);
bool stop_all(const struct tracer *tracer, const struct space *space);

#endif
