/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings that detours record into (engine/base/ring.h), ubp's side: which thread has
 * which ring, and what was recorded, as event records in order of time.
 *
 * A ring space is the region of one target address space, a ring set all those of a session.
 * The tracing thread makes spaces, adds and drops threads, and offers rings to those that it does not know of; the thread
 * that delivers events drains. The target may write anything into a region at any time: nothing in it is
 * used before it was copied and checked, and what makes no sense counts as lost.
 */

#ifndef UBP_EVENT_RING_H
#define UBP_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/ring.h"
#include "engine/event/clock.h"
#include "engine/event/record.h"

struct ring;
struct ring_set;
struct ring_space;
struct ubp_err;

/* Where address space is short, larger ones become smaller, down to this. */
#define RING_BYTES_DEFAULT (1u << 20)
#define RING_BYTES_MIN     16384

struct ring_options {
	/* Capacity of each thread's ring, a power of two from RING_BYTES_MIN to 1 GiB; 0: default. A ring takes
	 * memory as it fills, and gives it back when its thread is quiet (ring_trim.c). */
	size_t ring_bytes;
	enum event_clock clock;  /* of the records handed out */
	pid_t only_tid;          /* nobody asked for other threads' hits; 0: all */
	uint64_t (*ticks)(void); /* what detours stamp their records with */
	void (*used)(void *ctx); /* a space was made, tells the tracing thread; or NULL */
	/*
	 * Probes may sample (base/sample_plan.h): is @record, about which no detour has decided, to be handed out? By the delivering thread; it may
	 * ask ring_sample(). NULL: none does.
	 */
	bool (*sample)(void *ctx, const struct event_record *record, struct ring *ring);
	void *ctx;
};

/* Returns 0, -EINVAL or -ENOMEM. */
int ring_set_new(const struct ring_options *options, struct ring_set **ret_set,
		 struct ubp_err *err);
/* Both threads are done with it; spaces that are left are freed. NULL is fine. */
void ring_set_free(struct ring_set *set);
/* Records of probes with higher numbers are not believed. The tracing thread's; it only grows, before a detour is made that has
 * such a number. */
void ring_set_n_probes(struct ring_set *set, unsigned n_probes);
/*
 * From any thread: switch probe @number off, or on, in all spaces, those that come later too (ring_head.off). Numbers from
 * RING_SWITCHES on have no detours.
 */
void ring_set_switch(struct ring_set *set, unsigned number, bool on);
/* Detours use cells (struct ring_head) up to the @n_cells'th. Before one is written. */
void ring_set_use_cells(struct ring_set *set, uint32_t n_cells);

/* --- the tracing thread ---------------------------------------------------------- */

/* What rings of a region can be: as large as the options say, or less, so that @n of them take @most bytes at most. */
size_t ring_region_bytes(const struct ring_set *set, size_t n, uint64_t most);
/* Bytes of a region from its base on, with as many rings of @ring_bytes as @most bytes take; the control page comes in
 * front of that. */
size_t ring_region_len(const struct ring_set *set, size_t ring_bytes, uint64_t most);
/* Of these, so many bytes from the base on have @n_rings in them; whole pages. */
size_t ring_region_part(const struct ring_set *set, size_t ring_bytes, size_t n_rings);

struct ring_region {
	uint64_t base; /* where it will be mapped in the target */
	size_t len;    /* ring_region_len() */
	size_t ring_bytes;
};

/*
 * @control_fd and @region_fd are memory files of the target's, made with
 * MFD_ALLOW_SEALING, fresh and empty, opened for reading and writing; the caller closes
 * them. Sizes and maps them, takes the robust lock in the control page, and seals them: the
 * target can't change their sizes, nor map the control page for writing from now on.
 * No thread has a ring yet.
 * Returns 0 or a negative errno. All spaces of a set are made by the same thread; its list
 * of robust locks is the set's until all of them are closed.
 */
int ring_space_new(struct ring_set *set, int control_fd, int region_fd,
		   const struct ring_region *region, struct ring_space **ret_space,
		   struct ubp_err *err);
/*
 * The target is gone, or nothing of ours is left in it. What is in its rings is still drained;
 * then the space is freed: it is not the caller's any more. To whoever still looks at the
 * control page, its owner has died. The caller is the thread that made the space.
 */
void ring_space_close(struct ring_space *space);

/*
 * Thread @tid of process @pid is stopped, and has this thread pointer: its detours record
 * from now on. Another thread's entry for the same pointer is dropped. @mute: nobody asked for
 * its hits. -ENOSPC: no ring, or no room in the table: it goes on to take traps.
 */
int ring_space_add(struct ring_space *space, pid_t pid, pid_t tid, uint64_t thread_pointer,
		   bool mute);
/* What the thread's own word (detour_plan.self_at) has, a stopped thread's; its id, if nothing else is said. */
void ring_space_set_self(struct ring_space *space, pid_t tid, uint32_t self);
/*
 * Where in the target stands which processor it is on (rseq). 0: detours ask for it, or, where
 * no instruction tells (arm64), take their traps.
 */
void ring_space_set_cpu(struct ring_space *space, pid_t tid, uint64_t vaddr);
/* The stack of a stopped thread, as detours look through it (struct ring_stack). */
void ring_space_set_stack(struct ring_space *space, pid_t tid, uint64_t lo, uint64_t end);
bool ring_space_has_cpu(struct ring_space *space, pid_t tid);
/* Number of what is mapped there (event_record.maps), for records read from now on. */
void ring_space_set_maps(struct ring_space *space, uint32_t number);
/* Is there an entry for this thread? */
bool ring_space_has(struct ring_space *space, pid_t tid);
/*
 * How much room there is for more of the thread's records, in percent of its ring. Both sides' words for that are in the target's memory: it may be anything. -1: it has no ring.
 */
int ring_space_room(struct ring_space *space, pid_t tid);
/*
 * The target has mapped the first @len bytes of the region, and no more: rings are given out from
 * there. Without this call it has mapped all of it. @len only grows.
 */
void ring_space_set_mapped(struct ring_space *space, size_t len);
/* Was a thread refused a ring since then, for which the rest of the region has room? */
bool ring_space_wants_more(const struct ring_space *space);
/* Take it out again: it has ended, or another thread runs with the same thread pointer. */
void ring_space_drop(struct ring_space *space, pid_t tid);
/* Another thread than @tid that has a ring by this thread pointer has none any more: nobody can tell the two from each other. */
void ring_space_drop_others(struct ring_space *space, pid_t tid, uint64_t thread_pointer);

/*
 * From now on threads of one process without a ring may claim one (base/ring.h), each by itself: so many of those that
 * are mapped are there for them, and when they become less, others that are free by then. ring_space_add() takes one
 * of these if there is no other.
 */
struct ring_offer {
	pid_t pid;
	bool mute;  /* nobody asked for their hits */
	bool looks; /* nobody tells of threads that end: where rings are short, or .is_below, it is looked who is there */
	bool is_below; /* they know their ids in a pid namespace below ours: who claims waits for a look (struct ring_head, .claims_wait) */
	uint32_t n;
	/* So far from their thread pointers is what ring_space_set_cpu() tells; 0: not known. */
	int64_t cpu_off;
	char comm
		[16]; /* of the process, for threads that have ended before they are looked at; "": not known */
};
void ring_space_offer(struct ring_space *space, const struct ring_offer *offer);
/* From now on no more of them get one. */
void ring_space_end_offers(struct ring_space *space);
/* Who has got one is known now, and the names of those who are there. (Draining does so, too.) True: there was one. */
bool ring_space_look_for_claims(struct ring_space *space);

/* Memory that may be read (RING_RANGE()); copies of others in cells are cleared. */
void ring_space_set_ranges(struct ring_space *space, const uint64_t *ranges, size_t n);
/* Return addresses that a longjmp() had left in the way, while nobody traced the process (ring_head.left). */
uint64_t ring_set_left(struct ring_set *set);
/* Hits of probe @number that filters dropped, as far as they were counted. */
uint64_t ring_set_dropped(struct ring_set *set, unsigned number);

/* For struct detour_plan: ring_rate_factor(). */
uint64_t ring_set_ns_factor(const struct ring_set *set);

/* --- the thread that delivers -------------------------------------------------------- */

/*
 * Look at all rings: what is complete and was recorded up to now can be had from
 * ring_set_next() then. Returns the fill of the fullest ring, from 0 (there is nothing in any)
 * to 100 (it is full).
 */
unsigned ring_set_drain(struct ring_set *set);
/*
 * The oldest of these, if it is from @until at the latest (nanoseconds of the clock; records of
 * the event queue are merged by that), or NULL. Valid until the next call. While a thread is
 * amid writing one, younger ones are held back for a moment, so that they come in
 * order; but with UINT64_MAX all are handed out that there are.
 */
const struct event_record *ring_set_next(struct ring_set *set, uint64_t until);
/* Is there more, that is too young yet? */
bool ring_set_has_more(const struct ring_set *set);
/* Up to this time all is known, since the last ring_set_drain(): what other sources have of later
 * does not come before what is held back. */
uint64_t ring_set_known_until(const struct ring_set *set);
/* Records that were lost since the last call: no room, overwritten, not to be understood,
 * their thread was killed amid writing, or nobody took its trap (ring_head.missed). */
uint64_t ring_set_take_lost(struct ring_set *set);
/* Is there a space at all? Then somebody has to look from time to time. */
bool ring_set_is_used(const struct ring_set *set);

#endif
