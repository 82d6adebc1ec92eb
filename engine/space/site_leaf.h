/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * At a function's entry, whose returns are caught at rets: what the detour there is to tell beside the entry, since it goes on in a copy of the function
 * (arch/leaf.h). Chosen before a jump is made (engine/plant/leaf.c), and there for as long as that.
 */

#ifndef UBP_SPACE_SITE_LEAF_H
#define UBP_SPACE_SITE_LEAF_H

#include <stdbool.h>
#include <stddef.h>

struct leaf;
struct site;
struct uprobe;

struct site_leaf {
	struct uprobe **
		probes; /* whose returns are told, in order of definition, with a reference each */
	size_t n;
	bool is_refused; /* none can be made here, for good; .n is 0 */
};

/* Of these probes; 0: none any more. Returns 0 or -ENOMEM, when there is none. */
int site_leaf_set(struct site *site, struct uprobe *const *probes, size_t n);
/* None can be made. */
void site_leaf_refuse(struct site *site);
/* Are its probes these? */
bool site_leaf_is(const struct site *site, struct uprobe *const *probes, size_t n);
/* Of @from's to the copy of it that a fork() makes. 0 or -ENOMEM. */
int site_leaf_copy(const struct site *from, struct site *to);
void site_leaf_free(struct site *site);
/* What is carried out; NULL: nothing. */
const struct leaf *site_leaf(const struct site *site);

#endif
