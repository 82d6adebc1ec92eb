/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* All parts of what planting knows of an address space, and what happens to all of them. */

#ifndef UBP_PLANT_PARTS_H
#define UBP_PLANT_PARTS_H

struct adoption;
struct part_copied;
struct part_left;
struct plant_space;

/*
 * Each part stands behind those that it refers to: taking over and copying go forwards and end at the first failure,
 * leaving goes backwards. Return 0 or -errno.
 */
int parts_take_over(struct adoption *a);
int parts_copy(const struct part_copied *c);
void parts_leave(struct part_left *l);
void parts_forget(struct plant_space *ps);

#endif
