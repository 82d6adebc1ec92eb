/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What of a function a detour at its entry can carry out in a copy, up to its rets (arch/leaf.h). */

#ifndef UBP_CODE_LEAF_H
#define UBP_CODE_LEAF_H

#include <stdint.h>

struct leaf;
struct object;
struct ubp_err;

/*
 * Of the function that starts at @foffset: *ret_leaf is to be freed with free(). -EOPNOTSUPP, with the reason: nothing. Others as of landings_get().
 *
 * Not where somebody may know a place in it by its address: by a name, for an exception, for a restartable sequence. In Go programs, where the runtime knows no place of a copy:
 * functions that have nothing on the stack but the return address, and loops only where no goroutine is preempted anyway.
 */
int object_find_leaf(struct object *object, uint64_t foffset, struct leaf **ret_leaf,
		     struct ubp_err *err);

#endif
