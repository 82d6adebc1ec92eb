/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * SSOL areas: mappings of ours in the target, laid out as arch/guard.h says, with slots for displaced instructions and
 * blocks for detours; and the table by which the guard knows whose they are.
 */

#ifndef UBP_PLANT_AREA_H
#define UBP_PLANT_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct area;
struct area_room;
struct guard_head;
struct held;
struct maps;
struct mem_writes;
struct plant;
struct plant_space;
struct site;
struct space;
struct ubp_err;

/*
 * Room for @n slots from which [lo, hi) is within reach (lo == hi: anywhere), by
 * mapping a new area if need be. Sets *ret_area; slots are then taken with
 * area_take().
 */
int area_provide(struct plant *plant, const struct held *held, const struct maps *maps,
		 uint64_t lo, uint64_t hi, struct area_room room, struct area **ret_area,
		 struct ubp_err *err);
uint64_t area_take(struct area *area, struct site *owner);

/* An area, as it is laid out with so much room. */
struct guard_head area_lay_out(struct area_room room);
/* With it, is there so much of areas that a later session would not believe it? */
bool area_is_too_much(const struct plant_space *ps, const struct guard_head *head);
/* Map an area at @hint, and nowhere else if that is not 0. -EEXIST: something is there. */
int area_make(struct plant *plant, const struct held *held, const struct maps *maps,
	      uint64_t hint, struct guard_head *head, struct area **ret_area,
	      struct ubp_err *err);

/* Are @lo to @hi and all of @area less than @reach from each other? lo == hi: it does not matter. */
bool area_reaches(const struct area *area, uint64_t lo, uint64_t hi, uint64_t reach);

/* A block of @len bytes, at the end of what is used. False: there is no room. */
bool area_take_block(struct area *area, size_t len, struct site *owner);

/* A block that was taken before has another owner now. */
void area_own_block(const struct area *area, uint64_t block, size_t len, struct site *owner);

/*
 * Enter @n blocks, which are written, into the table of their area, by the vaddrs of their copies (UBP_SLOT_JUMP). 0 or
 * -errno. Thousands go fastest together.
 */
int area_enter_copies(struct mem_writes *writes, struct area *area, const uint64_t *copies,
		      size_t n);

/* The trap at @vaddr of a detour that scans the stack: for the guard it is an unwinder's site whose
 * slot is @copy. For good: nothing else may ever stand in that block. */
int area_enter_trap(struct mem_writes *writes, struct area *area, uint64_t vaddr,
		    uint64_t copy);

/* Does [@vaddr, @vaddr + @len) lie in the part of @area that slots are in, behind its table? */
bool area_holds(const struct area *area, uint64_t vaddr, uint64_t len);
/* Has the guard an entry for @vaddr, of a site that stands or stood there? */
bool area_has_entry(const struct plant_space *ps, uint64_t vaddr);

/* No room for another slot. */
bool area_is_full(const struct area *area);

/* Whose slot is it? */
struct site **area_owner(const struct area *area, uint64_t slot);

/*
 * Write the code of sites whose slots are in @area, and enter them into the table there.
 * Ascending slots go fastest.
 */
int area_enter(const struct space *space, pid_t tid, struct area *area,
	       struct site *const *sites, size_t n);

/* Write what stands once in a space, into the area at @head. */
int area_furnish(const struct space *space, uint64_t head, pid_t tid);
/* From now on threads may make many calls in a row (space->batch): the code for that stands in the first area, if there is one. */
void area_allow_batch(struct space *space);

/*
 * All that we change in the target for now has been changed. Copies of the memory that are made from now on can be
 * told from older ones (area_is_whole_copy()).
 */
void area_note_change(const struct space *space, pid_t tid);
/* Was @child, a copy of the memory of @parent, made since the last change there? Then it has all that @parent has. */
bool area_is_whole_copy(const struct space *parent, const struct space *child);

/* Is there so much of areas, with one more, that a later session would not believe it? */
bool area_is_too_much(const struct plant_space *ps, const struct guard_head *head);
/* Join @area, mapped and empty, to the space: its head, and what the first has. 0 or -errno. */
int area_join(struct space *space, struct area *area, struct guard_head *head, pid_t tid,
	      struct ubp_err *err);

/* One remote system call. */
int area_call(const struct held *held, uint64_t stub, int nr, const uint64_t args[6],
	      int64_t *ret_result, struct ubp_err *err);

/* mmap() in the target; at @hint and nowhere else, if it is not 0. */
int area_map(const struct held *held, uint64_t stub, uint64_t hint, uint64_t len, int prot,
	     uint64_t *ret_vaddr, struct ubp_err *err);

#endif
