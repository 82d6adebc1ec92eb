/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which stop comes next.
 *
 * A blocking wait for any of N tracees walks all of them, twice (33 times the
 * price of a kernel uprobe at 1000 threads). A hot thread stops again within
 * microseconds, so the threads that stopped last are asked by their ids first,
 * giving the CPU away in between; only when none of them comes does the tracer
 * block. So that a few hot threads cannot starve the others, a few cold ones are
 * asked by id every now and then.
 */

#ifndef UBP_TRACE_NEXT_STOP_H
#define UBP_TRACE_NEXT_STOP_H

#include <stdbool.h>

struct stop;
struct tracee;
struct tracer;

/* The next stop of any thread. False: woken. */
bool wait_any(struct tracer *tracer, struct stop *ret_stop);

/* Note a hit, so that this thread is asked first. */
void wait_note_hot(struct tracer *tracer, struct tracee *t);

/* It is traced no more. */
void wait_forget(struct tracer *tracer, const struct tracee *t);

#endif
