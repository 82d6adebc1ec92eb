/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Arrays whose elements ascend by a member of type uint64_t: an address, mostly. @v may be NULL if @n is 0.
 *
 *   search_at_least(v, n, member, key)   the index of the first with .member >= key; n: none
 *   search_above(v, n, member, key)      the index of the first with .member > key; n: none
 *   search_above_near(..., near)         the same, quicker where it is what *near says, or the next one; *near is what it was last
 */

#ifndef UBP_BASE_SEARCH_H
#define UBP_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* @size: bytes from one element to the next. @key_at: of the member, in an element. */
static inline size_t search_sorted(const void *v, size_t n, size_t size, size_t key_at,
				   uint64_t key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		uint64_t at;

		memcpy(&at, (const char *)v + mid * size + key_at, sizeof(at));
		if (at < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static inline size_t search_sorted_above(const void *v, size_t n, size_t size, size_t key_at,
					 uint64_t key)
{
	return key == UINT64_MAX ? n : search_sorted(v, n, size, key_at, key + 1);
}

static inline size_t search_sorted_near(const void *v, size_t n, size_t size, size_t key_at,
					uint64_t key, size_t *near)
{
	for (size_t i = *near; n && i <= n && i <= *near + 1; i++) {
		const char *at = (const char *)v + i * size + key_at;
		uint64_t before = 0, behind = UINT64_MAX;

		if (i > 0)
			memcpy(&before, at - size, sizeof(before));
		if (i < n)
			memcpy(&behind, at, sizeof(behind));
		if ((i == 0 || before <= key) && (i == n || behind > key)) {
			*near = i;
			return i;
		}
	}
	*near = search_sorted_above(v, n, size, key_at, key);
	return *near;
}

/* Does not compile if the member has another size. */
#define SEARCH_KEY_AT(v, member)                                                               \
	(offsetof(__typeof__(*(v)), member) +                                                  \
	 0 * sizeof(char[sizeof((v)->member) == sizeof(uint64_t) ? 1 : -1]))

#define search_at_least(v, n, member, key)                                                     \
	search_sorted((v), (n), sizeof(*(v)), SEARCH_KEY_AT(v, member), (key))
#define search_above(v, n, member, key)                                                        \
	search_sorted_above((v), (n), sizeof(*(v)), SEARCH_KEY_AT(v, member), (key))
#define search_above_near(v, n, member, key, near)                                             \
	search_sorted_near((v), (n), sizeof(*(v)), SEARCH_KEY_AT(v, member), (key), (near))

#endif
