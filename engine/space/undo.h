/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is taken out of a target must be seen to be out. What can't be taken out, or can't be
 * looked at, is noted: it is reported, the guard stays in the target, and the next session
 * finds all of it by the areas' own tables (leftover.c).
 */

#ifndef UBP_SPACE_UNDO_H
#define UBP_SPACE_UNDO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/os/maps.h"
#include "engine/space/left_behind.h"
#include "engine/space/space.h"

struct plant_space;
struct space;

/*
 * The mappings of the memory that @ps is in, by process @pid. That may have ended, or left it by an exec that we have
 * not seen yet: then others may live there still. False: they are not known. Free *ret_maps in any case.
 */
bool undo_read_maps(const struct plant_space *ps, pid_t pid, struct maps *ret_maps);

/* A look at why something can't be read. Zero-initialise .looked, and end with undo_end(). */
struct undo {
	const struct space *space;
	pid_t pid; /* a process that lives in it */
	struct plant_left *left;
	bool looked, is_gone, is_known;
	bool is_away; /* a stack word that we replaced holds something else: it may come back */
	struct maps maps; /* if they are known */
};

/*
 * Is nothing mapped at @vaddr any more, or not this file (@ino 0: any)? Then nothing of ours is
 * there. No where that can't be told.
 */
bool undo_is_gone(struct undo *undo, uint64_t vaddr, uint64_t dev, uint64_t ino);
/* It may look once more. */
void undo_end(struct undo *undo);

#endif
