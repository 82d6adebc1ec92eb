/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 8

int vec_fit(void *v, size_t n, size_t size)
{
	void *old, *grown;

	/* Twice a number that is too large is none. */
	if (n == 0 || n > SIZE_MAX / size)
		return -ENOMEM;
	/* Whatever it points to, it is a pointer to an object, and those look alike. */
	memcpy(&old, v, sizeof(old));
	grown = reallocarray(old, n, size);
	if (!grown)
		return -ENOMEM;
	memcpy(v, &grown, sizeof(grown));
	/* cppcheck-suppress memleak ; it is the caller's now */
	return 0;
}

int vec_room(void *v, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? 2 * *cap : ROOM_FIRST;

	if (n < *cap)
		return 0;
	if (vec_fit(v, more, size) < 0)
		return -ENOMEM;
	*cap = more;
	return 0;
}

int vec_double(void *v, size_t n, size_t size)
{
	if (n & (n - 1))
		return 0;
	return vec_fit(v, n ? 2 * n : 1, size);
}
