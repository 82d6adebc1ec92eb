/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Places that copies of functions lead out to (arch/leaf.h), and those of windows whose jump was taken back, where nothing else in the program leads to, perhaps: a jump over one of them would be met in its middle, by who
 * is in such a copy. They are known for as long as the space is: a thread may be in a copy, or come back to it, whose jump is long gone, and in one that an earlier
 * session made.
 */

#ifndef UBP_PLANT_LED_OUT_H
#define UBP_PLANT_LED_OUT_H

#include <stddef.h>
#include <stdint.h>

struct adoption;
struct guard_jump;
struct mem_view;
struct plant_space;
struct site;
struct site_jump;
struct space;

/* Those of @jump's copy, before it is written: 0 or -ENOMEM. */
int led_out_note(const struct plant_space *ps, const struct site *site,
		 const struct site_jump *jump);
/* @jump is about to be taken back: the copy of its window leads behind that still. 0 or -ENOMEM. */
int led_out_note_old(const struct plant_space *ps, const struct site *site,
		     const struct site_jump *jump);
/* Is one of them behind the first of the @len bytes at @vaddr, which a jump is to take? What is told of that; NULL: none is. */
const char *led_out_into(const struct plant_space *ps, uint64_t vaddr, size_t len);
/*
 * Of a block that an earlier ubp has left, whose window's copy is at @copy: the places that its function's copy leads out to are noted, and its rets are made rets
 * that tell nothing. Nothing comes into it any more. @view: of the areas. 0 or -errno.
 */
int led_out_adopt(struct adoption *a, struct mem_view *view, const struct guard_jump *head,
		  uint64_t copy);

#endif
