/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Small changes in our areas: all that come to a page are one write. */

#ifndef UBP_PLANT_PATCHES_H
#define UBP_PLANT_PATCHES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/plant/page_edit.h"

struct sort_item;
struct space;

struct patches {
	const struct space *space;
	pid_t tid; /* a thread that stands still, for who may not write otherwise; 0: none */
	struct page_patch leaf_ret; /* over the rets of copies of functions */
	struct sort_item *v;
	size_t n;
};

/* @patch, which has to last until patches_end(), at @at. */
void patches_add(struct patches *patches, uint64_t at, const struct page_patch *patch);
/* Write them all. What cannot be written stays as it is. */
void patches_end(struct patches *patches);

#endif
