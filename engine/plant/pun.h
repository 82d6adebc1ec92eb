/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory for the hops of punned jumps (arch/detour.h). Where such a jump may lead is told by the bytes behind it, so
 * areas are mapped there: not more than a few, since each takes a mapping of the process and two pages. Their room is
 * used for other detours, too. What stands in them is a hop like others (hop.h).
 */

#ifndef UBP_PLANT_PUN_H
#define UBP_PLANT_PUN_H

#include <stdbool.h>

struct held;
struct maps;
struct plant;
struct plant_space;
struct site;

extern const char pun_why_none[];

/* Is its jump to be one? */
bool pun_is_needed(const struct site *site);

/* Are many of the areas made that a process may have for them? */
bool pun_is_scarce(const struct plant_space *ps);

/*
 * Choose a hop for @site, if its jump is to be a punned one and it has none. *maps is as it is then. 0, also where there is no
 * need of one; or -errno: it has none, and the thread may have ended (-ESRCH).
 */
int pun_provide(struct plant *plant, const struct held *held, struct maps *maps,
		struct site *site);

#endif
