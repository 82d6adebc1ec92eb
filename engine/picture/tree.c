/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/tree.h"

#include <stdlib.h>

#include "engine/base/vec.h"

static int make_root(struct tree *tree)
{
	if (tree->n)
		return 0;
	if (VEC_ROOM(tree->v, &tree->cap, 0) < 0)
		return -1;
	tree->v[0] = (struct tree_node){ 0 };
	tree->n = 1;
	return 0;
}

uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	uintptr_t at = (uintptr_t)map_get(&tree->children, key);

	if (at)
		return (uint32_t)at;
	if (make_root(tree) < 0 || tree->n >= TREE_NODES_MAX ||
	    VEC_ROOM(tree->v, &tree->cap, tree->n) < 0 ||
	    map_put(&tree->children, key, (void *)(uintptr_t)tree->n) < 0) {
		tree->n_folded++;
		return parent;
	}
	tree->v[tree->n] = (struct tree_node){ .name = name, .parent = parent };
	return (uint32_t)tree->n++;
}

void tree_free(struct tree *tree)
{
	free(tree->v);
	map_free(&tree->children);
	*tree = (struct tree){ 0 };
}
