/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "watch" of what is known of an address space: whether breakpoints stand where unwinders begin, and end.
 *
 * Owner: engine/plant/watch.c, which alone looks inside. It is made with the other parts (plant_space_get()); the
 * breakpoints rest then, unless an earlier ubp had them awake. A copy that fork() makes has what its parent has.
 */

#ifndef UBP_SPACE_WATCH_PART_H
#define UBP_SPACE_WATCH_PART_H

#include <stdbool.h>

struct space_watch {
	bool begins_awake, ends_awake;
	bool has_woken; /* .begins_awake has become true, and nobody has asked yet (watch_take_woken()) */
	unsigned begins_in_vain, ends_in_vain; /* how often met lately, with nothing to do */
};

#endif
