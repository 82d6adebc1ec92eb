/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What could not be taken out of a target. */

#ifndef UBP_SPACE_LEFT_BEHIND_H
#define UBP_SPACE_LEFT_BEHIND_H

#include <stdbool.h>
#include <stdint.h>

/* What stays in a target. Zero-initialise. */
struct plant_left {
	unsigned n;       /* places; 0: nothing */
	const char *what; /* the first of them: "a breakpoint", ... */
	uint64_t vaddr;   /* where; 0: nowhere */
	int code;         /* why: errno */
	bool is_live;     /* threads may run into some of it: the guard is needed */
};

/* One more, at @vaddr (0: at no place), that stays because of -@rc. */
void plant_left_note(struct plant_left *left, const char *what, uint64_t vaddr, int rc);
/* plant_left_note() of something that threads may run into. */
void plant_left_live(struct plant_left *left, const char *what, uint64_t vaddr, int rc);

#endif
