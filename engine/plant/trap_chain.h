/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The actions of SIGTRAP that processes in one memory have set themselves, which the guard hands signals on to. Signal
 * actions are each process's own. The first process has its action at the start of struct guard_data, others have a
 * struct guard_sharer; one for which there is no room has the first one's.
 */

#ifndef UBP_PLANT_TRAP_CHAIN_H
#define UBP_PLANT_TRAP_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct action;
struct process;
struct space;

/* Where in the target the action of @p stands now. */
uint64_t chain_vaddr(const struct process *p);
/*
 * @p, which is not the first one, gets a place of its own, with @action in it; NULL: the one it has now. Returns 0,
 * -ENOSPC when all are taken, or -errno.
 */
int chain_keep(const struct process *p, const struct action *action);
/*
 * Child @p has been born, and lives in its mother's memory. The action that it sets from now on is its own, unless it is
 * there for a moment only (vfork()), or there is no room to note it.
 */
void chain_born(const struct process *p);
/* Has @p a place of its own already? */
bool chain_is_kept(const struct process *p);
/* @p has its own action again: it needs its place no more. */
void chain_drop(const struct process *p);
/* @child is a copy of the memory that @mother is in: @p's action is what hers was. It is alone there. */
void chain_copied(const struct space *child, pid_t mother, const struct process *p);

#endif
