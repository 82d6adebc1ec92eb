/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where the code is that unwinds a file's functions. */

#ifndef UBP_CODE_UNWINDER_H
#define UBP_CODE_UNWINDER_H

#include <stdbool.h>

struct object;

/*
 * Can exceptions pass through it, and is the code that unwinds them linked into it
 * without a name (a stripped program, whatever other files know)? Then nobody can tell when it
 * is at work.
 */
bool object_hides_unwinder(struct object *object);

#endif
