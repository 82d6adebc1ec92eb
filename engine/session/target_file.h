/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The file that a listing is about, opened. */

#ifndef UBP_SESSION_TARGET_FILE_H
#define UBP_SESSION_TARGET_FILE_H

#include "engine/files/debug.h"
#include "engine/ubp_files.h"

struct dwarf;
struct object;

/* The same options, as the room below has them. Strings stay whose they are. */
struct object_debug_options target_debug(const struct ubp_debug_options *debug);

/*
 * Look up and open the file that @target names. *ret_path, to be freed, is how it is called;
 * NULL: not wanted. Errors: those of object_locate() and object_open().
 */
int target_open(const struct ubp_target *target, char **ret_path, struct object **ret_object,
		struct ubp_err *err);

/* With its debug information. Free both, also on failure. Errors: those of dwarf_open(), too. */
int target_open_dwarf(const struct ubp_target *target, struct object **ret_object,
		      struct dwarf **ret_dwarf, struct ubp_err *err);

#endif
