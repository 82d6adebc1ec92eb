/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Other sites near one that is to be a jump. */

#ifndef UBP_PLANT_NEIGHBOUR_H
#define UBP_PLANT_NEIGHBOUR_H

#include <stddef.h>

struct plant_space;
struct site;

/* All sites, by their places, and one of them. */
struct place {
	struct site *const *sites;
	size_t n, i;
};

/* neighbour_of() for who goes through all sites. */
const char *neighbour_at(const struct plant_space *ps, const struct place *at, size_t len);
/* One in the way of a jump over @len bytes at @site: what is told of that. NULL: there is none. */
const char *neighbour_of(const struct plant_space *ps, const struct site *site, size_t len);

#endif
