/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return addresses that the tracer has replaced: struct return_instance (space.h), one for each stack word. */

#ifndef UBP_RETURNS_RETURNS_H
#define UBP_RETURNS_RETURNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/space/uprobe.h"

struct guard_return;
struct part_copied;
struct part_left;
struct plant_space;
struct return_entry;
struct return_instance;
struct return_list;
struct site;
struct space;
struct uprobe;

/*
 * --force, of a space with sites: probes whose returns cannot be caught there, for there is no room for what catches
 * them (guard_no_room()). Returns the first by number, and in *@ret_more how many sites
 * of such there are beside; NULL: none, or it was asked before.
 */
const struct uprobe *plant_lost_returns(const struct space *space, size_t *ret_more);

/* What replaces return addresses in it; 0: nothing does yet. Is it at @vaddr? */
uint64_t returns_trampoline(const struct plant_space *ps);
bool returns_at_trampoline(const struct plant_space *ps, uint64_t vaddr);
void returns_set_trampoline(const struct plant_space *ps, uint64_t vaddr);

/* The table that tells the guard of them: its mask is the number of its entries - 1. .table 0: there is none. */
struct return_place {
	uint64_t table, mask;
};
struct return_place return_place(const struct plant_space *ps);
void returns_set_place(const struct plant_space *ps, struct return_place place);

/* How many are replaced. */
size_t returns_n(const struct plant_space *ps);
/* How many have been so far, those that are over, too. */
uint64_t returns_n_ever(const struct plant_space *ps);
/* After returns_leave(): may one come back with its stack, which was copied away? */
bool returns_may_come_back(const struct plant_space *ps);
/*
 * Entry @index of an earlier ubp's table says that one stands at a word: it is known from now on, and nobody's probe any
 * more. 0, -ENOMEM, or what map_put_within() fails with, that looks @looks times.
 */
int returns_adopt(struct plant_space *ps, const struct guard_return *entry, uint64_t index,
		  unsigned looks);

/*
 * What @word, a return address, stands for, if it is one that we put there: read at @at. @sp:
 * the stack pointer of its caller behind the return, which tells exactly whose it is where a
 * call leaves the address in a register; 0: not known. Signatures are taken off there: return_ops.real().
 */
uint64_t returns_real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word);

/*
 * Write the trampoline's address over @ri's stack word, if it is in one (return_ops.write()), behind an entry in
 * the target's return table. Returns 0; -ENOSPC: the table is full; -EFAULT.
 */
int returns_arm(const struct space *space, struct return_instance *ri, pid_t tid);

/*
 * Nobody is about to trace the process, or somebody does again (@traps): who returns to the trampoline meanwhile goes home by the
 * guard's code, without a trap; returns_find_home() tells whether that knows the way. Returns 0 or -errno. Behind that
 * returns_drop_home(): those that went home so are known no more, and count as missed.
 */
bool returns_find_home(const struct plant_space *ps);
int returns_set_trap(const struct space *space, pid_t tid, bool traps);
void returns_drop_home(const struct space *space);

/*
 * What @ri, taken out of all, leaves behind: the guard's table no longer knows of it; where a thread is not
 * on its way before it goes on (arch_trampoline.leave), not before the next one is over.
 */
void returns_over(const struct space *space, const struct return_instance *ri, pid_t tid);

/*
 * The thread of the last one that is over goes on: the guard's table does not know of that either. An entry that stayed
 * there would be taken for a return address on a stack that was copied away, by the session behind a kill.
 */
void returns_gone_on(const struct space *space, pid_t tid);

/* @ri is over: its entry may be used again. */
void returns_forget(struct plant_space *ps, struct return_instance *ri);

/* Lists of instances: put in as the newest, or as the one that is next older than @newer (NULL:
 * none is newer); take out of the one it is in, if any. */
void returns_link(struct return_list *list, struct return_instance *ri);
void returns_link_behind(struct return_list *list, struct return_instance *newer,
			 struct return_instance *ri);
void returns_unlink(struct return_instance *ri);
void returns_free_one(struct return_instance *ri);
/* The same once more, in no list, without those that lie under it. NULL: out of memory. */
struct return_instance *returns_clone(const struct return_instance *ri);

/* An instance for this stack word, empty, in no list. NULL: out of memory. */
struct return_instance *returns_new(struct plant_space *ps, uint64_t slot_vaddr);

/* A function was entered, as @entry tells, which is copied, with its .kept. 0 or -ENOMEM. */
int returns_add_entry(struct return_instance *ri, const struct return_entry *entry);
/* Forget all functions that were entered. */
void returns_clear_entries(struct return_instance *ri);

/* Put it in where it belongs by its stack word: further in is newer. */
void returns_link_in_place(struct return_list *list, struct return_instance *ri);

/* It and those that were entered with the same stack word before, and lie under it, can't return for reason @why. */
void returns_count_all(struct return_instance *ri, enum missed_why why);

/* One entry of the function at @site, which has no instance. */
void returns_count_site(const struct site *site, enum missed_why why);

/* Its frame is gone: count as missed, unless it is already, and free, with those under it. */
void returns_drop(struct plant_space *ps, struct return_instance *ri);

/* A few may lie under @ri, no more. */
void returns_drop_oldest(struct return_instance *ri);

/* An instance can't return for reason @why, or (uncount) did all the same. */
void returns_count(struct return_instance *ri, enum missed_why why);
void returns_uncount(struct return_instance *ri);

/* return_ops.sweep() is called next when there are some times as many as now. */
void returns_sweep_later(struct plant_space *ps);

/*
 * struct part. Leaving puts every hijacked return address back where our trampoline's still stands, and what cannot be put
 * back is noted.
 */
int returns_copy(const struct part_copied *c);
void returns_leave(struct part_left *l);
void returns_free(struct plant_space *ps);

#endif
