/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/leaf.h"

#include <stdlib.h>
#include <string.h>

struct leaf *leaf_copy_of(const struct leaf *leaf)
{
	struct leaf *copy = malloc(leaf->size);

	if (!copy)
		return NULL;
	memcpy(copy, leaf, leaf->size);
	copy->code = (const uint8_t *)&copy->insns[copy->n];
	return copy;
}

const struct leaf_insn *leaf_insn_at(const struct leaf *leaf, size_t from)
{
	size_t low = 0, high = leaf->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (leaf->insns[mid].from < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < leaf->n && leaf->insns[low].from == from ? &leaf->insns[low] : NULL;
}

bool leaf_exits_between(const struct leaf *leaf, size_t low, size_t high)
{
	for (size_t i = 0; i < leaf->n; i++) {
		const struct leaf_insn *insn = &leaf->insns[i];
		size_t to[] = { insn->target, (size_t)insn->from + insn->len };
		bool leads[] = { insn->kind == LEAF_JUMP || insn->kind == LEAF_BRANCH,
				 insn->kind == LEAF_PLAIN || insn->kind == LEAF_BRANCH };

		for (size_t k = 0; k < 2; k++)
			if (leads[k] && to[k] > low && to[k] < high &&
			    !leaf_insn_at(leaf, to[k]))
				return true;
	}
	return false;
}
