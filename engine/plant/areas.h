/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is known of the areas of a space: made, copied, freed. */

#ifndef UBP_PLANT_AREAS_H
#define UBP_PLANT_AREAS_H

#include <stdbool.h>
#include <stdint.h>

struct area;
struct guard_head;
struct part_copied;
struct plant_space;

struct area *area_new(uint64_t vaddr, const struct guard_head *head);
/* Its .owners and, if it has a table, .keys: all empty. By .len and .table_mask, which stay as they
 * are. Returns 0 or -ENOMEM. */
int area_make_tables(struct area *area, bool has_keys);
void area_free_all(struct area *area);

/* struct part: the areas of a space. */
int areas_copy(const struct part_copied *c);
void areas_forget(struct plant_space *ps);

#endif
