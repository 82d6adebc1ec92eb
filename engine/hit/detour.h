/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stops in detours (engine/plant/jump.h): what their code cannot do by itself. */

#ifndef UBP_HIT_DETOUR_H
#define UBP_HIT_DETOUR_H

#include "engine/hit/state.h"
#include "engine/space/space.h"

/* A breakpoint in an area, at @vaddr: the hit is recorded here; the thread goes on by itself. @regs: held->at. */
enum trap_verdict detour_trap(struct hit *hit, const struct held *held, struct ubp_regs *regs,
			      uint64_t vaddr);

/*
 * A fault at offset @at of a site's detour. True: the program is not to see it. Else it is
 * made to look like that of the program's own instruction. The thread may be gone afterwards.
 */
bool detour_fault(struct hit *hit, const struct held *held, struct site *site,
		  const struct site_jump *jump, uint64_t at, int sig);

#endif
