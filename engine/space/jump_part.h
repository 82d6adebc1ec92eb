/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "jump" of what is known of an address space: when sites are made jumps and jumps are renewed, the breakpoints in
 * their detours, blocks of code that may be used again. Each site's own jump is in site_jump.h.
 *
 * Owner: engine/plant/jump*.c, hop.c, led_out.c, mirror.c, pun.c, renew.c and upgrade.c, and engine/space/site_jump.c, which alone look inside. It is made with
 * the other parts (plant_space_get()); no jump is known then. A copy that fork() makes has its parent's. Leaving takes the
 * jumps out; it is freed when the space is forgotten.
 */

#ifndef UBP_SPACE_JUMP_PART_H
#define UBP_SPACE_JUMP_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/map.h"

struct space_jumps {
	struct map blocks; /* site's vaddr -> a block that nobody is in any more */
	struct map traps;  /* vaddr of a breakpoint in a detour -> its site */
	struct map hops;   /* vaddr -> the site that has it (plant/hop.c) */
	struct map
		puns; /* vaddr of each hop of a punned jump, in an area, that there is or was (plant/pun.c) */
	unsigned n_pun_areas; /* that were mapped for these */
	struct map
		led_to; /* places that a copy of a function leads out to, or once did (plant/led_out.c) */
	bool is_returning; /* somebody is in the code that hijacked returns go by (plant/jump_who.c) */
	unsigned n_written;    /* written, ever */
	bool due;              /* sites may be made jumps */
	bool spares_are_short; /* blocks that were others' had no room for a detour: it is to have a new one */
	unsigned hits_before; /* at breakpoints, until that is worth a stop */
	/* plant/renew.c: */
	bool renew_due;    /* jumps are to be taken back whose sites have other probes now */
	bool sweep_due;    /* there are old ones that somebody may be in */
	uint64_t swept_ns; /* when it was looked at last whether they are out of them */
	uint64_t renew_ns; /* not again before ... */
	uint64_t renew_wait_ns;  /* ... how long it was waited last */
	bool failed;             /* it can't have rings */
	uint64_t tried_ns;       /* when that was tried last ... */
	uint64_t wait_ns;        /* ... and how long not to try again */
	unsigned n_detour_traps; /* without rings, so far */
};

#endif
