/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What planting does where processes are born, and execute programs: the memory of a child has what its parent's had, and a new
 * program has nothing. Who asks is answered what is left to do; whom that is told to is the asker's business.
 */

#ifndef UBP_PLANT_BIRTHS_H
#define UBP_PLANT_BIRTHS_H

#include <stdbool.h>

struct held;
struct plant_left;
struct process;
struct space;
struct tracee;
struct ubp_err;

enum birth {
	BIRTH_GONE, /* it is to be let go: nothing of ours is in it, but *left; or it has ended */
	BIRTH_KEPT,  /* it has all that its parent has */
	BIRTH_PLANT, /* plant_update() is next */
};

/*
 * @first, held, is the thread of a new process with a copy of @parent's memory. It is kept, but if it is .silent: *left,
 * zeroed, is then what could not be taken out.
 */
enum birth births_copy(const struct process *parent, const struct held *first,
		       struct plant_left *left);
/*
 * ... with @parent's memory itself: the breakpoints are there, signal actions are its own. It is always kept. Errors are those
 * of plant_guard().
 */
int births_share(const struct process *parent, const struct held *first, struct ubp_err *err);

/* @t is stopped in its new image: what was known of the old one is over. */
void births_executed(struct tracee *t);
/* The child of @t, which waited for it, has memory of its own now. */
void births_vfork_done(struct tracee *t);

/* Has @space places of probes? */
bool births_has_probes(const struct space *space);
/* Has it a loader, which may bring more files? */
bool births_is_dynamic(const struct space *space);

#endif
