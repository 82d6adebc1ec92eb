/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Paths of names: stacks, or calls. Bounded: what comes when it is full stays at the deepest node that there is. */

#ifndef UBP_PICTURE_TREE_H
#define UBP_PICTURE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

#define TREE_NODES_MAX 32768

struct tree_node {
	uint32_t name, parent;
};

/* Zero-initialise. Node 0 is the root; a parent's number is below its children's. */
struct tree {
	struct tree_node *v;
	size_t n, cap; /* 0: not even the root is there yet */
	struct map children;
	uint64_t n_folded; /* paths that did not fit, each time they came */
};

/* The child of @parent that has @name. @parent itself: it is full, or memory is short. */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t name);
void tree_free(struct tree *tree);

#endif
