/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Uprobes of the kernel's, and breakpoints of others, that have taken places of ours: looked for at the end, before anything is taken
 * out.
 */

#ifndef UBP_PLANT_TAKEN_SITES_H
#define UBP_PLANT_TAKEN_SITES_H

struct plant;
struct space;
struct uprobe;

/* Which places has the kernel? */
void taken_sites_look(const struct plant *plant);
/* Behind that: count those of @space, with their probes; how many there are. *ret_first: the probe of the first of them. */
unsigned taken_sites_count(struct space *space, const struct uprobe **ret_first);

#endif
