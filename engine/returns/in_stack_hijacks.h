/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What detours replaced in words of the stack: taken over, put back (struct return_ops). */

#ifndef UBP_RETURNS_IN_STACK_HIJACKS_H
#define UBP_RETURNS_IN_STACK_HIJACKS_H

#include <stdint.h>
#include <sys/types.h>

struct plant_left;
struct plant_space;
struct space;
struct tracee;

/* hijack_take() for all from @sp upwards on this stack, and on those that signals came to. */
void in_stack_take_stacks(struct tracee *t, uint64_t sp);

/* The same for a stopped thread and all of its stack, from where it is: return_ops.take_own(). */
void in_stack_take_own(struct tracee *t);

/* The entry in use of the word that somebody at @sp has just returned by, and its real address; 0: there is none. */
uint64_t in_stack_find_returned_by(const struct space *space, uint64_t sp, uint64_t *ret_real);

/* return_ops.save_returning() */
void in_stack_save_returning(const struct space *space);

/* return_ops.put_back_hijacks() */
void in_stack_put_back(struct plant_space *owner, const struct space *space, pid_t tid,
		       struct plant_left *left);

#endif
