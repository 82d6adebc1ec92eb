/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A change of what is probed, while threads run: probes that come, go, or take another's place. It is an object of its own,
 * made by whoever wants it and handed over whole.
 */

#ifndef UBP_PLANT_CHANGE_H
#define UBP_PLANT_CHANGE_H

#include <stddef.h>

struct plant;
struct tracer;
struct uprobe;

/* In .replaced: the probe is new, and takes no other's place. */
#define PLANT_CHANGE_NEW 0xffffffffU

struct plant_change {
	struct uprobe **added; /* a reference to each */
	/* Of each of .added: the number of the probe whose place it takes, which is retired. The new probe has a program and
	 * a filter, and gets all else from the old one. At each moment one of the two is there. */
	unsigned *replaced;
	size_t n_added;
	unsigned *retired; /* numbers */
	size_t n_retired;
};

/* Empty, with room for so many. NULL: out of memory. */
struct plant_change *plant_change_new(size_t n_added, size_t n_retired);
void plant_change_free(struct plant_change *change);

/*
 * On the tracing thread, between two of its turns. The list of probes is the next version; whatever goes or is
 * replaced does so at all sites, for every stop from now on. What is left to do: renew_pass(), and plant_update() in
 * each process for what is new. *change is used up: to be freed. Returns 0; nothing has changed: -ENOMEM,
 * -ENOENT (a number is none that is in the list).
 */
int plant_change(struct plant *plant, const struct tracer *tracer, struct plant_change *change);

#endif
