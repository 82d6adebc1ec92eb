/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rings in the target: what detours record into, and what they may read. */

#ifndef UBP_PLANT_RINGS_H
#define UBP_PLANT_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct maps;
struct part_copied;
struct part_left;
struct plant;
struct plant_space;
struct process;
struct ring_space;
struct space;
struct tracee;
struct tracer;
struct ubp_arch;
struct ubp_err;

#define RINGS_SHARED ((void *)1) /* several threads have one thread pointer */

/* A free range of @len bytes in a process of @arch, far from everything, on either side of @from; in
 * 32 bits where it is least in the way. 0: none. */
uint64_t rings_find_room(const struct ubp_arch *arch, const struct maps *maps, uint64_t from,
			 uint64_t len);

/* Map rings into a held thread's process. 0, or -errno: it can't have any. */
int rings_provide(struct plant *plant, const struct held *held, const struct maps *maps,
		  struct ubp_err *err);

/*
 * Threads have come for which there are no rings: more of them are mapped. 0, or -errno: there are none to be had; -ESRCH: it has ended.
 */
int rings_grow(const struct plant *plant, const struct held *held, struct ubp_err *err);

/* As many more as threads may want that come while nobody traces the process. */
int rings_spare(const struct plant *plant, const struct held *held, struct ubp_err *err);

/* Entries of a table, a power of two: @most, or fewer where a limit leaves little room. */
uint64_t rings_fit_table(pid_t pid, uint64_t most, uint64_t entry_len);

/* How large rings for @t's process are, whose region takes @most bytes at most. */
size_t rings_bytes(const struct plant *plant, const struct tracee *t, uint64_t most);

/* Bytes of the region to begin with, for @t's process; no more than @most. 0: too much. */
size_t rings_first_part(const struct plant *plant, const struct tracee *t, size_t ring_bytes,
			size_t most);

/*
 * Where rings are mapped, those of an earlier session or of the process's parent too, as the guard's data
 * tells and @maps bear out: the control page's vaddr, bytes from there on. 0: nowhere.
 */
uint64_t rings_place(const struct space *space, const struct maps *maps, uint64_t *ret_len);

/* Tell the next session where they are: the control page's vaddr, bytes from there on. */
int rings_note_place(const struct space *space, pid_t tid, uint64_t at, uint64_t len);

/*
 * What detours do: RING_GATE_OFF, RING_GATE_TRAP, or the base. @space is @owner, or a
 * copy of its memory.
 */
int rings_set_gate(const struct space *owner, const struct space *space, pid_t tid,
		   uint64_t value);

/* They record into the rings that are mapped; where none are, their gate is shut. */
int rings_open_gate(const struct space *space, pid_t tid);

/* A stopped thread has this thread pointer: a ring for it, if nobody else has the same. */
void rings_add_thread(const struct held *held);

/* Its stack, from @lo to @end, for detours that look through it; no more of it than they do. */
void rings_set_stack(const struct tracee *t, uint64_t lo, uint64_t end);

/* Why hits of @p would not be recorded without a tracer, words that stay; NULL: each of its threads has a ring, or claims one. */
const char *rings_why_not_alone(const struct process *p);

/* Threads of a process that was not traced for a while: those that have ended have no rings any more. */
void rings_drop_ended(const struct tracer *tracer, const struct plant_space *ps);

/* It has ended. */
void rings_thread_gone(struct tracee *t);

/*
 * Detours may read what is mapped now. If there is more than they can note, what holds one of
 * @wanted comes first.
 */
void rings_look_around(struct space *space, pid_t tid, const uint64_t *wanted, size_t n);

/*
 * A stopped thread may have blocked SIGSEGV or SIGBUS since: then detours read nothing that may make a fault.
 */
void rings_note_mask(const struct tracee *t);
/* A detour's load has made a fault, which told the kernel to unblock @sig if that was blocked: it is blocked again, as far as that is known. */
void rings_block_again(const struct tracee *t, int sig);

/* May they read this address already? */
bool rings_may_read(const struct plant_space *ps, uint64_t vaddr);
/* When it was last looked at what they may read: CLOCK_KIND_MONO. */
uint64_t rings_looked_ns(const struct plant_space *ps);

/* No memory of the program is known to be there any more, until rings_trust(): a detour that has not begun by then reads none by itself. */
void rings_distrust(struct plant_space *ps);
void rings_trust(struct plant_space *ps);
/* Meanwhile: it may, by calls of the kernel (detour_plan.reads). */
void rings_let_read(const struct plant_space *ps);
/* Was a thread about to set a filter for such calls, at some time? */
bool rings_are_filtered(const struct plant_space *ps);

/* As the delivering thread knows them; NULL: it has none. */
struct ring_space *rings_of(const struct plant_space *ps);
/* Has it rings? What follows is for one that has them. */
bool rings_are_made(const struct plant_space *ps);
bool rings_has_thread(const struct plant_space *ps, pid_t tid);
/* Are there threads without one, for which more can be mapped? */
bool rings_wants_more(const struct plant_space *ps);
/* Detours read the number of the CPU where the kernel keeps it for @t, once the thread has said where. */
void rings_note_cpu(const struct plant_space *ps, struct tracee *t);
/* No more of them can be mapped. */
void rings_note_full(const struct plant_space *ps);
/* The target has given back what was mapped for them. */
void rings_given_back(const struct plant_space *ps);
/* The number of what is mapped (stack/maps_now.h), for the records of stacks. */
void rings_set_maps(const struct plant_space *ps, uint32_t number);

void rings_forget(struct plant_space *ps);

/* struct part: the parent's rings are not its child's, whose detours take their traps; a copy that is left has its gate
 * shut, any other space by jump_remove(). */
int rings_copy(const struct part_copied *c);
void rings_leave(struct part_left *l);

#endif
