/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/pid_list.h"

#include <errno.h>
#include <stdlib.h>

#define CAP_FIRST 64

int pid_list_add(struct pid_list *list, pid_t pid)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : CAP_FIRST;
		pid_t *bigger = realloc(list->v, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		list->v = bigger;
		list->cap = cap;
	}
	list->v[list->n++] = pid;
	return 0;
}
