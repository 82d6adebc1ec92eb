/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The tree of calls: each way down through functions has a number. */

#ifndef UBP_CALLS_PATHS_H
#define UBP_CALLS_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

struct calls_path {
	uint32_t parent, function;
};

/* Zero-initialise. */
struct calls_paths {
	struct map numbers; /* by parent and function: the number */
	struct calls_path *v;
	size_t n, cap; /* of .v; [0] is the root */
};

/* The path of @function below @parent; made, if there is none. 0: there is no room for more, or memory is short. */
uint32_t calls_paths_find(struct calls_paths *paths, uint32_t parent, uint32_t function);
void calls_paths_free(struct calls_paths *paths);

#endif
