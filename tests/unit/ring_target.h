/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For tests of rings: the target's side, as engine/base/ring.h has it, in plain C. */

#ifndef UBP_TESTS_UNIT_RING_TARGET_H
#define UBP_TESTS_UNIT_RING_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/event/ring.h"

#define TARGET_PROBES 100

/* Memory files, mapped a second time: as the target, or a child of it, has them. */
struct ring_target {
	struct ring_set *set;
	struct ring_space *space;
	int control_fd, region_fd;
	const struct ring_control *control;
	uint8_t *region;
	size_t region_len, ring_bytes;
};

/* Asserts that all goes well. */
void target_open(struct ring_target *target, size_t ring_bytes);
/* Another address space of the same set. */
void target_open_in(struct ring_target *target, struct ring_set *set);
void target_close(struct ring_target *target);
/* The target's mappings alone. */
void target_unmap(struct ring_target *target);

struct ring_head *target_head(const struct ring_target *target);
/* As a detour finds it; NULL: there is none. */
struct ring_thread *target_find(const struct ring_target *target, uint64_t thread_pointer);
struct ring_thread *target_table(const struct ring_target *target);

/* A record in the making. */
struct target_record {
	struct ring_thread *thread;
	uint64_t at;
	struct ring_record *record;
};

/* False: no room, which is counted. @len: of the data. */
bool target_reserve(struct ring_target *target, struct ring_thread *thread, size_t len,
		    struct target_record *ret_record);
/* Data is a pattern made from @serial, which is .vaddr, too. */
void target_fill(struct target_record *r, uint32_t probe, uint64_t serial, size_t len);
/* Shorten what was reserved to @len bytes of data, if nothing came behind it. */
bool target_shorten(struct target_record *r, size_t len);
void target_commit(struct target_record *r);
/* All of that at once. */
bool target_write(struct ring_target *target, uint64_t thread_pointer, uint32_t probe,
		  uint64_t serial, size_t len);

/* The thread claims a ring, as a detour does; NULL: it gets none. Its entry, if it has one. */
struct ring_thread *target_claim(struct ring_target *target, uint64_t thread_pointer,
				 uint32_t tid);
/* The steps of it: a place in the table, one of the offers (UINT64_MAX: there is none), all the rest. */
struct ring_thread *target_take_place(struct ring_target *target, uint64_t thread_pointer,
				      uint32_t tid);
uint64_t target_take_offer(struct ring_target *target);
void target_fill_claim(struct ring_target *target, struct ring_thread *thread, uint64_t offer,
		       uint32_t tid);
struct ring_claim *target_claim_at(const struct ring_target *target, uint64_t offer);

/* Thread pointers as threads have them: pages apart. */
uint64_t target_pointer(uint64_t i);
/* A thread of this process; asserts that it gets a ring. */
void target_add(struct ring_target *target, pid_t tid, uint64_t thread_pointer);
/* The next record; assert that it is this one; that there is none. */
const struct event_record *target_next(struct ring_target *target);
void target_take(struct ring_target *target, uint64_t serial);
void target_take_nothing(struct ring_target *target);

/* Is its data the pattern of its serial? */
bool target_is_intact(const struct event_record *record);

#endif
