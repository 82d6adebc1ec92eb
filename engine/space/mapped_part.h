/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "mapped" of what is known of an address space: which set of mappings the records of its stacks are to be read
 * with.
 *
 * Owner: engine/stack/maps_now.c, which alone looks inside. It is made with the other parts (plant_space_get()) and says
 * "not known" then, in a copy that fork() makes as well. It is forgotten with the space.
 */

#ifndef UBP_SPACE_MAPPED_PART_H
#define UBP_SPACE_MAPPED_PART_H

#include <stdint.h>

struct space_mapped {
	uint32_t number; /* of its mappings (stack/maps_set.h); 0: they may have changed */
	uint32_t last;   /* the last .number that was not 0 */
};

#endif
