/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Counters behind rings, by which hits are sampled (engine/base/sample_plan.h): what ubp decides with them. */

#ifndef UBP_EVENT_RING_SAMPLE_H
#define UBP_EVENT_RING_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ring;
struct ring_set;
struct ring_space;

/* Of thread @tid, which is stopped, a hit of probe @number that adds @step: 1, it is taken, or 0. -1: it has no counter there. */
int ring_space_sample(struct ring_space *space, pid_t tid, unsigned number, uint32_t step,
		      uint32_t every);
/* What it has counted elsewhere, less than what makes a hit taken. False: it has no counter there. */
bool ring_space_give_sample(struct ring_space *space, pid_t tid, unsigned number,
			    uint32_t count);
/* In ring_options.sample: the same of the thread that has @ring, of a record that no detour has decided about. */
bool ring_sample(struct ring *ring, unsigned number, uint32_t step, uint32_t every);

/* Hits of probe @number that detours left out, as far as they were counted. */
uint64_t ring_set_left_out(struct ring_set *set, unsigned number);

#endif
