/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The last rung: no slot, the original instruction is stepped where it stands. */

#ifndef UBP_HIT_IN_PLACE_H
#define UBP_HIT_IN_PLACE_H

#include "engine/hit/state.h"
#include "engine/space/space.h"

/*
 * Hold the other threads of the address space, put the original bytes back, step
 * the thread over them, plant again, let the others go. Afterwards it is stopped as before,
 * behind the instruction; its SIGTRAP is not delivered. Where the kernel, which reads the instruction
 * for a step, might have to wait for it (mem_may_be_touched()) the original bytes stay there.
 */
void in_place_step(struct hit *hit, const struct held *held, const struct site *site);

#endif
