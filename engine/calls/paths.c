/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/calls/paths.h"

#include <stdlib.h>

#include "engine/base/vec.h"
#include "engine/calls/function.h"

uint32_t calls_paths_find(struct calls_paths *paths, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	void *known = map_get(&paths->numbers, key);

	if (known)
		return (uint32_t)(uintptr_t)known;
	if (!paths->n) {
		if (VEC_ROOM(paths->v, &paths->cap, 0) < 0)
			return 0;
		paths->v[paths->n++] = (struct calls_path){ 0, 0 };
	}
	if (paths->n > CALLS_PATHS_MAX || VEC_ROOM(paths->v, &paths->cap, paths->n) < 0 ||
	    map_put(&paths->numbers, key, (void *)(uintptr_t)paths->n) < 0)
		return 0;
	paths->v[paths->n] = (struct calls_path){ parent, function };
	return (uint32_t)paths->n++;
}

void calls_paths_free(struct calls_paths *paths)
{
	map_free(&paths->numbers);
	free(paths->v);
}
