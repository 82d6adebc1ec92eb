/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a ring set; for the ring*.c of this folder. */

#ifndef UBP_EVENT_RING_PRIV_H
#define UBP_EVENT_RING_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/heap.h"
#include "engine/base/map.h"
#include "engine/base/sample_plan.h"
#include "engine/base/tally_table.h"
#include "engine/event/ring.h"
#include "engine/event/ring_owner.h"
#include "engine/event/ring_time.h"

#define RINGS_MAX 1024 /* of a space */

#define RING_NO_SLOT UINT32_MAX

#define RING_BYTES_MAX  (1U << 30)
#define RING_LOOK_BYTES (4ULL << 20)

/*
 * Whose a ring is: FREE, nobody's; OFFERED, a thread of the target may have taken it; LIVE, a thread of
 * the target writes it, and the delivering thread reads; GONE, nobody writes it, and the delivering
 * thread reads what is left, then makes it FREE. All other steps are made under the space's lock.
 */
enum ring_state { RING_FREE, RING_OFFERED, RING_LIVE, RING_GONE };

struct ring_claims;
struct ring_count;

struct ring {
	_Atomic uint32_t state;
	atomic_bool mute;
	/* Set before it becomes LIVE. */
	struct ring_space *space;
	uint32_t slot; /* in the table of threads, or RING_NO_SLOT */
	uint8_t *bytes;
	uint64_t key;
	bool is_quick;  /* it has the struct ring_quick of its place */
	pid_t pid, tid; /* .tid 0: its thread has ended before it was known who that is */
	/* The delivering thread's, unless FREE. */
	uint64_t tail;       /* taken up to here */
	uint64_t end;        /* reserved up to here, at the last look */
	uint64_t limit;      /* as last told to the target */
	uint64_t lost;       /* the target's count, at the last look */
	uint64_t last_ticks; /* of the record handed out last */
	uint64_t last_ns;
	uint64_t seen_ns;  /* when .end was looked at */
	uint64_t since_ns; /* what is to come from it is younger */
	uint64_t comm_ns;  /* when .comm was read; 0: never */
	uint64_t stuck_ns; /* since when it is at a record that is not complete; 0: it is not */
	uint64_t grown;    /* records behind this position say whether its table has to grow */
	struct ring_trim {
		uint64_t ns, end; /* of the last time that was looked at what it takes */
		uint64_t used;    /* bytes that were written since memory was given back */
	} trim;
	bool is_gone;  /* at the last look */
	bool is_ready; /* .front is the record at .tail; the ring is in the heap */
	struct ring_front {
		struct ring_record record; /* its head, .time at least that of the one before */
		uint32_t n_stack;
	} front;
	char comm[16];
};

struct ring_space {
	struct ring_set *set;
	struct ring_space *next; /* under the set's lock */
	atomic_bool closed;
	_Atomic uint32_t maps;
	uint64_t base; /* in the target */
	uint8_t *region;
	size_t region_len;
	uint64_t ring_bytes; /* capacity of each ring */
	uint64_t stride;     /* from one ring to the next */
	struct ring_owner *owner;
	_Atomic uint32_t n_used; /* rings that ever were */
	atomic_bool has_claims;
	/* The tracing thread, and who looks at claims; all below is under this. */
	pthread_mutex_t lock;
	struct ring_claims *claims; /* NULL: nobody may make any */
	struct map by_tid, by_key;  /* LIVE rings */
	uint32_t n_rings;
	uint32_t n_mapped; /* of them, by the target */
	bool wants_more;   /* somebody had none of these */
	uint64_t missed;   /* of ring_head.missed, told of; under the set's lock */
	uint64_t in_vain;  /* of ring_head.in_vain; the tracing thread's */
	struct ring *rings;
	struct map slots; /* of the table of threads -> the ring whose entry it is */
};

struct ring_set {
	struct ring_options opt;
	struct ring_tallies {
		uint32_t slot; /* 0: there are none */
		void (*counted)(void *ctx, const struct ring_count *count); /* ring_count_fn */
		void *ctx;
	} tally;
	atomic_uint n_probes;
	uint32_t n_rings; /* of each space */
	pthread_mutex_t lock;
	struct ring_space *spaces; /* under .lock; taken out by the delivering thread alone */
	_Atomic size_t n_spaces;
	struct ring_owners owners; /* the tracing thread's */
	struct ring_rate rate;     /* never changes */
	uint32_t n_cells;          /* that detours use, from the first; the tracing thread's */

	/* The delivering thread's. */
	struct ring_time time;
	struct heap heap;      /* rings that have a record, the oldest first */
	uint64_t looked_ns;    /* the last look at all rings */
	uint64_t hold_ns;      /* nothing younger is handed out yet */
	uint64_t hold_from_ns; /* what is older than that waits for nobody */
	uint64_t lost;
	uint64_t *dropped, *left_out; /* RING_COUNTS, of spaces that are gone */
	uint64_t left;                /* the same; under .lock */
	uint8_t *off; /* as ring_head.off: what new spaces begin with; under .lock */
	size_t n_off; /* bytes of .off that have ever been other than 0 end there */
	struct event_record *record;
};

/* Without tables. */
static inline uint64_t ring_plain_stride(const struct ring_set *set)
{
	return set->opt.ring_bytes + RING_SLACK + (set->opt.sample ? SAMPLE_AREA : 0);
}

/* What lies behind a ring is at one distance in all spaces: detours know it by heart. */
static inline bool ring_has_areas(const struct ring_set *set)
{
	return set->opt.sample || set->tally.slot;
}

/* Counters for sampling, behind a ring's start; 0: nothing samples. */
static inline uint32_t ring_samples_at(const struct ring_set *set)
{
	return set->opt.sample ? (uint32_t)(set->opt.ring_bytes + RING_SLACK) : 0;
}

static inline uint64_t ring_stride(const struct ring_set *set)
{
	return ring_plain_stride(set) + (set->tally.slot ? TALLY_AREA : 0);
}

/* The same in a region of that size: one of a program of 32 bits has no room for tables. */
static inline uint64_t ring_stride_in(const struct ring_set *set, uint64_t ring_bytes,
				      uint64_t region_len)
{
	uint64_t stride = ring_stride(set);

	if (!ring_has_areas(set))
		return ring_bytes + RING_SLACK;
	return region_len >= RING_RINGS_AT + stride ? stride : ring_plain_stride(set);
}

/* Rings that so many bytes take. */
static inline uint32_t ring_most(const struct ring_set *set, uint64_t len)
{
	uint64_t n = len / ring_stride(set);

	return n < RINGS_MAX ? (uint32_t)n : RINGS_MAX;
}

/* How far .head may go, from @tail on. */
static inline uint64_t ring_limit(const struct ring_space *space, uint64_t tail)
{
	return tail + space->ring_bytes - RING_SLACK;
}

/*
 * How full it is, in percent. Larger ones are for readers who come late, not for those who look seldom: what is read soon
 * is in the caches still.
 */
static inline unsigned ring_fill(const struct ring *ring)
{
	uint64_t bytes = ring->space->ring_bytes < RING_LOOK_BYTES ? ring->space->ring_bytes
								   : RING_LOOK_BYTES;
	uint64_t percent = (ring->end - ring->tail) * 100 / bytes;

	return percent < 100 ? (unsigned)percent : 100;
}

/* Hits that nobody took since the last call; under the set's lock, or for a space that is in no list any more. */
uint64_t ring_take_missed(struct ring_space *space);

static inline struct ring_head *ring_head_of(const struct ring_space *space)
{
	return (struct ring_head *)space->region;
}

static inline struct ring_thread *ring_threads(const struct ring_space *space)
{
	return (struct ring_thread *)(space->region + RING_TABLE_AT);
}

/* In the target. */
static inline uint64_t ring_vaddr(const struct ring *ring)
{
	return ring->space->base + (uint64_t)(ring->bytes - ring->space->region);
}

static inline struct ring_quick *ring_quick_of(const struct ring_space *space,
					       uint64_t thread_pointer)
{
	return (struct ring_quick *)(space->region + RING_QUICK_AT +
				     ring_quick_place(thread_pointer));
}

static inline struct ring_stack *ring_stacks(const struct ring_space *space)
{
	return (struct ring_stack *)(space->region + RING_STACKS_AT);
}

/* ring.c: of a new space, in no list yet; under the set's lock. */
void ring_switches_begin(struct ring_space *space);

/* ring_space.c: by the delivering thread, or at the very end. */
void ring_space_free(struct ring_space *space);

/* ring_tally.c: for a new thread; what one that is gone has counted is told, and cleared; a record found no room. */
void ring_tally_begin(struct ring *ring);
void ring_tally_end(struct ring *ring);
void ring_tally_grow(struct ring *ring);

/* ring.c: what is counted for probe @number, in @gone for spaces that are gone, and @at so many bytes of ring_head in those that are there. */
uint64_t ring_counted(struct ring_set *set, const uint64_t *gone, size_t at, unsigned number);

/* ring_sample.c: one that is gone has counted nothing for the next. */
void ring_sample_end(struct ring *ring);

/* ring_space.c: the thread's ring; NULL: it has none. */
struct ring *ring_of_thread(struct ring_space *space, pid_t tid);

/* ring_trim.c: memory that a quiet thread's ring has no use for goes back; by the delivering thread, of a LIVE ring ... */
void ring_trim(struct ring *ring, uint64_t now);
/* ... and of one that nobody writes any more. */
void ring_trim_end(struct ring *ring);

/* ring_read.c */
void ring_look_at_comm(struct ring *ring, uint64_t now);

/* ring_table.c: where an entry for @key can be made. -ENOSPC: no room. */
int ring_table_place(struct ring_space *space, uint64_t key, uint32_t *ret_slot);
/* Nobody has this entry any more. */
void ring_table_release(struct ring_space *space, uint32_t slot);
/* Of a new space: nobody without a thread pointer finds one. */
void ring_quick_begin(struct ring_space *space);
/* The shorter way to @ring, whose thread has this word, if there is room for it; and no more, before the ring is anybody else's. */
void ring_quick_put(struct ring *ring, uint32_t self);
void ring_quick_end(struct ring *ring);

#endif
