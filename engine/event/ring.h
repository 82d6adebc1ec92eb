/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings that detours record into (engine/base/ring.h), ubp's side: which thread has
 * which ring, and what was recorded, as event records in order of time.
 *
 * A ring space is the region of one target address space, a ring set all those of a session.
 * The tracing thread makes spaces, adds and drops threads; the thread that delivers
 * events drains. The target may write anything into a region at any time: nothing in it is
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

struct ring_set;
struct ring_space;
struct ubp_err;

#define RING_BYTES_DEFAULT (1u << 20)
#define RING_BYTES_MIN     16384

/*
 * @ring_bytes: capacity of each thread's ring, a power of two from RING_BYTES_MIN
 * (0: default). Returns 0, -EINVAL or -ENOMEM.
 */
int ring_set_new(size_t ring_bytes, enum event_clock clock, struct ring_set **ret_set,
		 struct ubp_err *err);
void ring_set_free(struct ring_set *set);

/* --- the tracing thread ---------------------------------------------------------- */

/* Bytes of a region from its base on; the control page comes in front of that. */
size_t ring_region_len(const struct ring_set *set);

/*
 * @control_fd and @region_fd are memory files of the target's, fresh and empty, opened
 * for reading and writing; the caller closes them. Sizes and maps them, takes the robust
 * lock in the control page, and seals that file so that the target can't write
 * to it. @base: where the region will be mapped in the target. No thread has a ring yet.
 */
int ring_space_new(struct ring_set *set, int control_fd, int region_fd, uint64_t base,
		   struct ring_space **ret_space, struct ubp_err *err);
/*
 * The target is gone, or nothing of ours is left in it. What is in its rings is still drained;
 * then the space is freed. The lock is given back: the caller is the thread that made it.
 */
void ring_space_close(struct ring_space *space);

/*
 * Thread @tid of process @pid is stopped, and has this thread pointer: its detours record
 * from now on. Another thread's entry for the same pointer is dropped. @mute: nobody asked for its
 * hits. -ENOSPC: no ring, or no room in the table: it goes on to take traps.
 */
int ring_space_add(struct ring_space *space, pid_t pid, pid_t tid, uint64_t thread_pointer,
		   bool mute);
/* Is there an entry for this thread? */
bool ring_space_has(const struct ring_space *space, pid_t tid);
/* Take it out again: it has ended, or another thread runs with the same thread pointer. */
void ring_space_drop(struct ring_space *space, pid_t tid);
/* Memory that may be read (RING_RANGE()); copies of others in cells are cleared. */
void ring_space_set_ranges(struct ring_space *space, const uint64_t *ranges, size_t n);
/* Hits of probe @number that filters dropped, as far as they were counted. */
uint64_t ring_set_dropped(struct ring_set *set, unsigned number);

/* --- the thread that delivers -------------------------------------------------------- */

/*
 * Look at all rings: take up what is complete and was recorded up to now. Returns
 * how many records there are to be had now.
 */
size_t ring_set_drain(struct ring_set *set);
/*
 * The oldest of these, if it is at most @until (nanoseconds of the clock; the records of the event queue
 * are merged by that), or NULL. Valid until the next call.
 */
const struct event_record *ring_set_next(struct ring_set *set, uint64_t until);
/* Records that were lost since the last call: no room, overwritten, not to be understood,
 * or their thread was killed amid writing. */
uint64_t ring_set_take_lost(struct ring_set *set);
/* Is there a space at all? Then somebody has to look from time to time. */
bool ring_set_is_used(const struct ring_set *set);

#endif
