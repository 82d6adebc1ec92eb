/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Semaphores (reference counters) of probes: incremented while somebody listens. */

#ifndef UBP_PLANT_SEMAPHORE_H
#define UBP_PLANT_SEMAPHORE_H

#include <stdbool.h>
#include <sys/types.h>

struct guard_semaphore;
struct maps;
struct part_copied;
struct part_left;
struct plant;
struct plant_space;
struct space;

/*
 * Semaphores of @plant's probes that @maps now map: increment each once. Those no
 * longer mapped are forgotten.
 */
int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps);

/* Decrement those that no probe in the current list wants any more, where @pid lives. */
void semaphore_retire(const struct plant *plant, struct space *space, pid_t pid);
/* Write into the target that there are none that we incremented. */
void semaphore_note_none(const struct plant_space *ps, const struct space *space, pid_t tid);

/* Decrement one that a killed tracer had incremented, and noted so. True: it had. */
bool semaphore_drop(const struct space *space, const struct maps *maps, pid_t tid,
		    const struct guard_semaphore *noted);

/*
 * struct part. Leaving decrements them. In a copy (fork) of memory in which they were decremented meanwhile it depends on
 * what they are there. Those that can't be decremented stay noted in the target.
 */
int semaphores_copy(const struct part_copied *c);
void semaphores_leave(struct part_left *l);
void semaphores_forget(struct plant_space *ps);

#endif
