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

/* Look at which places the kernel has uprobes. */
void taken_sites_look(const struct plant *plant);
/* Behind taken_sites_look(): how many places of @space others have; each is counted for its probe. *ret_first: the first of these
 * probes. */
unsigned taken_sites_count(struct space *space, const struct uprobe **ret_first);

#endif
