/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)

static unsigned digit(uint64_t key, unsigned shift)
{
	return (unsigned)(key >> shift) % DIGITS;
}

/* By one digit, from @from to @to. */
static void pass(const struct sort_item *from, struct sort_item *to, size_t n, unsigned shift)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[digit(from[i].key, shift)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[digit(from[i].key, shift)]++] = from[i];
}

/* Bits that are not the same in all keys; 0 also if they are in order. */
static uint64_t differing(const struct sort_item *items, size_t n)
{
	uint64_t bits = 0;
	bool is_sorted = true;

	for (size_t i = 1; i < n; i++) {
		bits |= items[i].key ^ items[0].key;
		is_sorted = is_sorted && items[i - 1].key <= items[i].key;
	}
	return is_sorted ? 0 : bits;
}

/* Without memory. */
static void insert_each(struct sort_item *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sort_item item = items[i];
		size_t k = i;

		for (; k > 0 && items[k - 1].key > item.key; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

void sort_items(struct sort_item *items, size_t n)
{
	uint64_t bits = differing(items, n);
	struct sort_item *other = bits ? malloc(n * sizeof(*other)) : NULL, *from = items,
			 *to = other;

	if (bits && !other)
		insert_each(items, n);
	for (unsigned shift = 0; other && shift < 64; shift += DIGIT_BITS) {
		struct sort_item *sorted = to;

		if (!digit(bits, shift))
			continue;
		pass(from, to, n, shift);
		to = from;
		from = sorted;
	}
	if (other && from != items)
		memcpy(items, from, n * sizeof(*items));
	free(other);
}

void sort_items_by(struct sort_item *items, size_t n, unsigned n_keys,
		   uint64_t (*key)(const void *value, unsigned k))
{
	uint64_t first[SORT_KEYS_MAX] = { 0 }, differs = 0;

	for (unsigned k = 0; k < n_keys && n; k++)
		first[k] = key(items[0].value, k);
	/* Each is looked at once, where mostly but one key differs. */
	for (size_t i = 1; i < n; i++)
		for (unsigned k = 0; k < n_keys; k++)
			differs |= (uint64_t)(key(items[i].value, k) != first[k]) << k;
	while (n_keys-- > 0) {
		if (!(differs >> n_keys & 1))
			continue;
		for (size_t i = 0; i < n; i++)
			items[i].key = key(items[i].value, n_keys);
		sort_items(items, n);
	}
}
