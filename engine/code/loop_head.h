/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where loops begin. */

#ifndef UBP_CODE_LOOP_HEAD_H
#define UBP_CODE_LOOP_HEAD_H

#include <stdbool.h>
#include <stdint.h>

struct object;

/*
 * Does the function that contains @foffset jump back there, from there or from further on? What only a
 * table or a register leads to is not seen; nor is what stands behind bytes that cannot be decoded.
 */
bool object_is_loop_head(struct object *object, uint64_t foffset);

#endif
