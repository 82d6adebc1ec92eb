/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Leaving: breakpoints, jumps and return addresses are taken out, of a process that goes on, of copies that fork() made,
 * of memory that is lent to a vfork() child. What stays is noted (left_behind.h).
 */

#ifndef UBP_PLANT_LEAVE_H
#define UBP_PLANT_LEAVE_H

#include <stdbool.h>
#include <sys/types.h>

struct held;
struct plant_left;
struct process;
struct space;
struct tracee;
struct tracer;
struct ubp_err;

/*
 * Take all breakpoints out and put hijacked return addresses back, with threads
 * running. Traps that are under way still find their site, so the caller goes on
 * to handle stops until none can come (drain.h).
 */
void plant_remove(const struct process *p);

/*
 * A child was born before the last change in its parent's memory (area_is_whole_copy()): see what is there, as if a
 * killed tracer had left it, and take it out, by the child's thread. @left: it is not kept, so return addresses are put back, too, and what
 * could not be taken out is added; NULL: it is kept.
 */
int plant_clean_partly(const struct held *held, struct plant_left *left, struct ubp_err *err);

/*
 * The same for a copy, not kept, that plant_clean_copy() has cleaned, of a parent that plant_forgot(). What
 * plant_copy() took over stays known.
 */
int plant_clean_forgotten(const struct held *held, struct plant_left *left,
			  struct ubp_err *err);

/*
 * @child is a fresh copy of @parent's memory: the same bytes are in it. Take over
 * what is known about them (-ENOMEM), or take them out of it. @first: the thread
 * that runs in the copy, on its parent's stack. Nothing is replaced in the copy: what is to be taken
 * out of it is looked for by what its parent knows.
 */
int plant_copy(const struct space *parent, struct space *child, struct tracee *first);

/* *left: what could not be taken out of it. */
void plant_clean_copy(const struct space *parent, struct space *child, pid_t tid,
		      struct plant_left *left);

/*
 * The guard is about to go: those jumps to it that are a breakpoint for a moment while they are taken out (site_is_at_once()) go before it.
 * What could not be taken out is tried again by plant_unhook(). @tid: a stopped thread of @space.
 */
void plant_unhook_parts(struct space *space, pid_t tid);

/* No guard is left: the jumps to it go, too. */
void plant_unhook(struct space *space, pid_t pid, pid_t tid, struct plant_left *left);

/*
 * The other end of plant_remove(), when no trap of ours can come any more: each
 * process of @tracer (only @only, if it is not NULL) gets its SIGTRAP handler and
 * its threads their signal masks back. Not where something stays that needs the guard.
 */
void plant_leave(struct tracer *tracer, const struct process *only);

/*
 * Breakpoints of ours are out for a while, those alone: jumps stay. Who has met one meanwhile still finds its site. @tid: a
 * thread that is stopped, or 0.
 */
void plant_rest(struct space *space, pid_t tid);
void plant_wake(struct space *space, pid_t tid);

/*
 * A child that shares the memory until its exec is to meet no breakpoint, for nobody would handle
 * it: they are out until plant_take_back(), which a thread calls whose registers are not needed:
 * one that waited for the child. Jumps stay, and record nothing. They nest.
 */
void plant_lend(struct space *space, pid_t tid);
void plant_take_back(struct space *space, pid_t tid);

/* What stays (plant_left()) was told: it is not told again. */
void plant_left_told(struct space *space);

/* Forget, without touching the target. space->plant may be NULL. */
void plant_forget(struct space *space);

#endif
