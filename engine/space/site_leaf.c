/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/site_leaf.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/space/space.h"
#include "engine/space/uprobe.h"

static void drop(struct site_leaf *leaf)
{
	while (leaf->n)
		uprobe_put(leaf->probes[--leaf->n]);
	free(leaf->probes);
	leaf->probes = NULL;
}

int site_leaf_set(struct site *site, struct uprobe *const *probes, size_t n)
{
	struct site_leaf *leaf = site->leaf;

	if (!leaf && n == 0)
		return 0;
	if (!leaf)
		leaf = site->leaf = calloc(1, sizeof(*leaf));
	if (!leaf)
		return -ENOMEM;
	drop(leaf);
	if (n == 0)
		return 0;
	leaf->probes = calloc(n, sizeof(struct uprobe *));
	if (!leaf->probes)
		return -ENOMEM;
	for (; leaf->n < n; leaf->n++)
		leaf->probes[leaf->n] = uprobe_get(probes[leaf->n]);
	return 0;
}

void site_leaf_refuse(struct site *site)
{
	if (!site->leaf)
		return;
	drop(site->leaf);
	site->leaf->is_refused = true;
}

bool site_leaf_is(const struct site *site, struct uprobe *const *probes, size_t n)
{
	if ((site->leaf ? site->leaf->n : 0) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (site->leaf->probes[i] != probes[i])
			return false;
	return true;
}

int site_leaf_copy(const struct site *from, struct site *to)
{
	to->leaf = NULL;
	if (!from->leaf)
		return 0;
	to->leaf = calloc(1, sizeof(*to->leaf));
	if (!to->leaf)
		return -ENOMEM;
	to->leaf->is_refused = from->leaf->is_refused;
	return site_leaf_set(to, from->leaf->probes, from->leaf->n);
}

void site_leaf_free(struct site *site)
{
	if (site->leaf)
		drop(site->leaf);
	free(site->leaf);
	site->leaf = NULL;
}

const struct leaf *site_leaf(const struct site *site)
{
	return site->leaf && site->leaf->n ? site->leaf->probes[0]->at_hit.leaf : NULL;
}
