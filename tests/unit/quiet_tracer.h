/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For tests of a tracer whose owner keeps no books. */

#ifndef UBP_TESTS_UNIT_QUIET_TRACER_H
#define UBP_TESTS_UNIT_QUIET_TRACER_H

#include <sys/types.h>

struct process;
struct tracer;
struct tracer_ops;

/* Nobody wants to know who has come or gone; children of fork() are let go, and no trap or signal is ours. */
extern const struct tracer_ops quiet_tracer_ops;

/* Process @pid with an address space of its own that cannot be read, both the tracer's; asserts. */
struct process *quiet_tracer_add(struct tracer *tracer, pid_t pid);

#endif
