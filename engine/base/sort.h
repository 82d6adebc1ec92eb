/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Things by their addresses: ten thousand in a millisecond. */

#ifndef UBP_BASE_SORT_H
#define UBP_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_item {
	uint64_t key;
	void *value;
};

#define SORT_KEYS_MAX 8

/* The least key first; those with one key stay in their order. */
void sort_items(struct sort_item *items, size_t n);
/* The same by several keys, SORT_KEYS_MAX at most: key() tells number @k of @n_keys, which counts the more the less @k is. .key of
 * each is anything afterwards. */
void sort_items_by(struct sort_item *items, size_t n, unsigned n_keys,
		   uint64_t (*key)(const void *value, unsigned k));

#endif
