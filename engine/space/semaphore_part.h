/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "semaphore" of what is known of an address space: the reference counters that were incremented there.
 *
 * Owner: engine/plant/semaphore.c, which alone looks inside. It is made with the other parts (plant_space_get()), filled when
 * probes are planted, copied by fork(), and forgotten with the space. What an earlier ubp had raised is lowered before.
 */

#ifndef UBP_SPACE_SEMAPHORE_PART_H
#define UBP_SPACE_SEMAPHORE_PART_H

#include <stddef.h>
#include <stdint.h>

struct guard_semaphore;

struct space_semaphores {
	struct guard_semaphore *v; /* those we incremented */
	uint16_t *lowered;         /* what they were without us; NULL: not yet decremented */
	size_t n;
};

#endif
