/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/pid_list.h"

#include <errno.h>

#include "engine/base/vec.h"

int pid_list_add(struct pid_list *list, pid_t pid)
{
	if (VEC_ROOM(list->v, &list->cap, list->n) < 0)
		return -ENOMEM;
	list->v[list->n++] = pid;
	return 0;
}
