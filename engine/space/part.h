/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A part of what planting knows of an address space (struct plant_space), by what happens to a target: an earlier ubp's
 * is taken over, fork() copies it, it is left, it is forgotten. Each part keeps these functions beside its own code;
 * parts.c has the table of them. Providing is not among them: what a part needs to have in a target follows from what is
 * planted there (plant.c) or made a jump (jump.c), and comes at a time of its own.
 */

#ifndef UBP_SPACE_PART_H
#define UBP_SPACE_PART_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/space/undo.h"

struct adoption;
struct plant_space;
struct space;
struct tracee;

/* The memory of @child is a fresh copy of that of @parent. */
struct part_copied {
	const struct space *parent;
	struct space *child;
	const struct plant_space *from; /* the parent's */
	struct plant_space *to;         /* the child's, empty at first */
	struct tracee *first;           /* the thread that runs in the copy, stopped */
};

/*
 * What is known of @owner is taken out of .undo.space: itself, whose threads run, or a copy of it, whose only thread is
 * stopped. What can't be grows .undo.left.
 */
struct part_left {
	const struct space *owner;
	struct plant_space *ps; /* .owner's */
	pid_t tid;              /* a stopped thread of .undo.space; 0: none */
	struct undo undo;       /* of all parts */
};

struct part {
	/* Read what an earlier ubp has left in the target (leftover.h). 0 or -errno; NULL: nothing. */
	int (*take_over)(struct adoption *a);
	/* Take over what the parent knows. 0 or -ENOMEM; NULL: nothing. */
	int (*copy)(const struct part_copied *c);
	/* Take it out of the target. NULL: nothing is to be taken out at that time. */
	void (*leave)(struct part_left *l);
	/* Free what is known, without touching the target. NULL: nothing. */
	void (*forget)(struct plant_space *ps);
};

#endif
