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

/*
 * Is it a runtime that walks the stacks of its threads by itself, by their return addresses: a Java virtual machine, a program with V8 in it?
 * One that finds an address there that it does not know gives up, and its program with it.
 */
bool object_walks_stacks(struct object *object);

#endif
