/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The file that a listing is about, opened. */

#ifndef UBP_DEFINE_TARGET_H
#define UBP_DEFINE_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/files/debug_options.h"

struct dwarf;
struct object;
struct ubp_err;

/* What a listing is about. */
struct define_target {
	/* A path, program or library; NULL: all that .pid maps (functions and static probes). With wildcards:
	 * each such file (functions). */
	const char *name;
	pid_t pid; /* 0, or as that process sees it */
	struct object_debug_options debug;
	const char *pattern;        /* of names; NULL: all */
	const char *const *exclude; /* patterns, NULL-ended; may be NULL */
	bool explain;               /* tell how each place can be probed */
};

/*
 * Look up and open the file that @target names. *ret_path, to be freed, is how it is called;
 * NULL: not wanted. Errors: those of object_locate() and object_open().
 */
int target_open(const struct define_target *target, char **ret_path, struct object **ret_object,
		struct ubp_err *err);

/* With its debug information. Free both, also on failure. Errors: those of dwarf_open(), too. */
int target_open_dwarf(const struct define_target *target, struct object **ret_object,
		      struct dwarf **ret_dwarf, struct ubp_err *err);

#endif
