/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifndef TESTS_UNIT_DWARF_ASK_H
#define TESTS_UNIT_DWARF_ASK_H

#include <stdbool.h>

struct object;

/*
 * Ask all that can be asked of the debug information of @object, which may be damaged: places and
 * lines of functions and files, frames, variables. Answers must be whole and failures must be
 * told; else it aborts. False: it has none.
 */
bool dwarf_ask(struct object *object);

#endif
