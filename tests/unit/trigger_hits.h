/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hits of tests/corpus/trigtgt.c for tests of triggers: the program is built and run under a session of the engine, and the
 * records that this delivers are kept. A run of the same definitions and parts is made once and kept for all rows.
 */

#ifndef TESTS_UNIT_TRIGGER_HITS_H
#define TESTS_UNIT_TRIGGER_HITS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/event/record.h"

#define HITS_TASKS_MAX 16

struct hits {
	struct event_record **records; /* .probe is the number of the definition */
	size_t n;
	pid_t tasks[HITS_TASKS_MAX]; /* T0, T1, ... as the program prints them */
	size_t n_tasks;
};

/* Build the program, of this source below UBP_SRC. */
void hits_begin(const char *program);
/* Free all runs, remove the program. */
void hits_end(void);

/* The hits of run number @run (a second one of the same kind has tasks of its own) of the parts @parts with @defs. */
const struct hits *hits_of(json_t *defs, json_t *parts, unsigned run);
/* The address of a function of the program. */
uint64_t hits_address(const char *function);

#endif
