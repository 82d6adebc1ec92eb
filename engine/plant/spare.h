/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Blocks of an area whose detours are gone, and that nobody is in any more: they serve other detours, so that changes of
 * probes do not fill the target. A block keeps its length and its entry in the guard's table.
 */

#ifndef UBP_PLANT_SPARE_H
#define UBP_PLANT_SPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct area;
struct plant_space;
struct site_jump;

/* Larger ones are of one kind, and are tried one by one. */
#define SPARE_SLOTS_MAX 128

/* How many blocks there are, by their slots. */
struct spare_counts {
	size_t of[SPARE_SLOTS_MAX];
};

/* The block at @block, @len bytes with its head. Where there is no memory to note it, it is lost until the target is left. */
void spare_add(struct area *area, uint64_t block, size_t len);
/* The block of @jump, which is known to no site any more. */
void spare_add_jump(const struct plant_space *ps, const struct site_jump *jump);
/* The shortest with room for @len bytes; *ret_len: what it has. 0: there is none. */
uint64_t spare_take(struct area *area, size_t len, size_t *ret_len);

void spare_count(const struct area *area, struct spare_counts *counts);
/* True: one of @counts has room for @len bytes, and is counted no more. */
bool spare_cover(struct spare_counts *counts, size_t len);

/* With the area. */
void spare_free_all(struct area *area);

#endif
