/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/tally/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"

struct block {
	struct block *next; /* of the same hash */
	uint64_t vaddr, bytes, stack;
	uint32_t pid;
};

struct blocks {
	struct map by_place; /* by the hash of process and address */
	struct blocks_row *rows;
	size_t n, cap;
};

struct blocks *blocks_new(void)
{
	return calloc(1, sizeof(struct blocks));
}

void blocks_free(struct blocks *blocks)
{
	size_t pos = 0;
	void *value;

	if (!blocks)
		return;
	while (map_next(&blocks->by_place, &pos, NULL, &value))
		for (struct block *b = value, *next; b; b = next) {
			next = b->next;
			free(b);
		}
	map_free(&blocks->by_place);
	free(blocks->rows);
	free(blocks);
}

static uint64_t hash_of(uint32_t pid, uint64_t vaddr)
{
	return hash_number(hash_number(0, pid), vaddr);
}

void blocks_take(struct blocks *blocks, uint32_t pid, uint64_t vaddr)
{
	uint64_t hash = hash_of(pid, vaddr);
	struct block *first = map_get(&blocks->by_place, hash), *b = first, *before = NULL;

	while (b && (b->pid != pid || b->vaddr != vaddr)) {
		before = b;
		b = b->next;
	}
	if (!b)
		return;
	blocks->rows[b->stack].live -= b->bytes;
	blocks->rows[b->stack].n_live--;
	if (before)
		before->next = b->next;
	else if (b->next)
		(void)map_put(&blocks->by_place, hash, b->next); /* in a place that it has */
	else
		(void)map_remove(&blocks->by_place, hash);
	free(b);
}

int blocks_add(struct blocks *blocks, uint32_t pid, uint64_t vaddr, uint64_t bytes,
	       uint64_t stack)
{
	uint64_t hash = hash_of(pid, vaddr);
	struct blocks_row *row;
	struct block *b;

	blocks_take(blocks, pid, vaddr);
	while (blocks->n <= stack) {
		if (VEC_ROOM(blocks->rows, &blocks->cap, blocks->n) < 0)
			return -ENOMEM;
		blocks->rows[blocks->n++] = (struct blocks_row){ 0 };
	}
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct block){ map_get(&blocks->by_place, hash), vaddr, bytes, stack, pid };
	if (map_put(&blocks->by_place, hash, b) < 0) {
		free(b);
		return -ENOMEM;
	}
	row = &blocks->rows[stack];
	row->live += bytes;
	row->allocated += bytes;
	row->n_live++;
	row->n_allocated++;
	return 0;
}

size_t blocks_n(const struct blocks *blocks)
{
	return blocks->n;
}

const struct blocks_row *blocks_row(const struct blocks *blocks, size_t stack)
{
	return &blocks->rows[stack];
}
