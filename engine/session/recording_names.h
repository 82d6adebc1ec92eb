/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names for addresses of a recording's stacks that got none while it was recorded: of files that are here, or whose debug
 * information is, and that have the build-id of what was mapped.
 */

#ifndef UBP_SESSION_RECORDING_NAMES_H
#define UBP_SESSION_RECORDING_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/map.h"

struct mapped_set;
struct sink_frame;

/* Zero-initialise. */
struct recording_names {
	struct map files; /* by a hash of path and build-id */
	struct map names; /* by a hash of the file and the address in it */
};

/*
 * What is known of an entry of a stack by @mapped (recording_mapped()) alone: its file, and a name if there is one. @is_first: no call led there.
 * @frame: .vaddr is set, and .function if it is known already. Strings are good until recording_names_free().
 */
void recording_name_frame(struct recording_names *names, const struct mapped_set *mapped,
			  bool is_first, struct sink_frame *frame);
void recording_names_free(struct recording_names *names);

#endif
