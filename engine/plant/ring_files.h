/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The memory files of a target's rings: made and mapped by remote calls, opened by us as well. What
 * the target's threads do with the descriptors meanwhile harms nobody but the target, and a target that
 * merely closes all that it did not open itself is not harmed either: a file that is not ours is
 * neither mapped for long nor closed.
 */

#ifndef UBP_PLANT_RING_FILES_H
#define UBP_PLANT_RING_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/plant/memory_file.h"

struct remote;
struct ubp_err;

/* As maps show them. */
#define RING_FILES_NAME "ubp"

struct ring_file {
	uint64_t number;          /* in the target */
	bool is_closed;           /* .number was closed, by ring_files_map() */
	struct memory_file taken; /* .fd -1: not taken */
};

struct ring_files {
	struct ring_file control, region;
};

/*
 * Make the two files in the target, and open them here. @name: vaddr of RING_FILES_NAME in the target. On failure, too,
 * ring_files_close() is to be called, unless it is -ESRCH: the thread is gone.
 */
int ring_files_make(struct remote *remote, uint64_t name, struct ring_files *ret_files,
		    struct ubp_err *err);
/*
 * Map the control page at @at, and behind it @part bytes of the region, and close the target's descriptors on the way.
 * They have their sizes by now.
 */
int ring_files_map(struct remote *remote, struct ring_files *files, uint64_t at, uint64_t part,
		   uint64_t flags, struct ubp_err *err);
/* Close the target's descriptors, as far as they are ours still. False: the thread is gone. */
bool ring_files_close(struct remote *remote, const struct ring_files *files);
/* Close our own descriptors. */
void ring_files_put(struct ring_files *files);

#endif
