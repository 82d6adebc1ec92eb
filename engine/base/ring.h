/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The memory that detours record into: shared between ubp and one target. Kept in
 * base because rooms that do not know each other use it: the instruction sets make
 * code that writes it (arch/detour.h), engine/event reads it, engine/plant maps it.
 *
 *   base - 4096   struct ring_control     read-only in the target
 *   base          struct ring_head        from here on the target may write
 *   + RING_TABLE_AT    RING_THREADS of struct ring_thread
 *   + RING_STACKS_AT   RING_THREADS of struct ring_stack
 *   + RING_CLAIMS_AT   RING_CLAIMS of struct ring_claim
 *   + RING_QUICK_AT    RING_QUICK of struct ring_quick
 *   + RING_RINGS_AT    rings, each of a capacity that is a power of two, with
 *                      RING_SLACK bytes behind it
 *
 * Nothing here is believed by ubp without a look: the target may write what it likes.
 * Every word that both sides use is aligned and read or written at once.
 *
 * Which thread am I? A detour has nothing but its thread pointer (x86-64: the fs base, arm64:
 * TPIDR_EL0), and finds its struct ring_thread by that: from ring_hash(key) upwards, wrapping
 * around, to the entry with its key or to one with key 0. Entries are filled in by ubp, of a
 * thread that is stopped, or by the thread itself (struct ring_claim); who has none, and gets
 * none, takes the detour's trap. A process that its tracer has let go of takes none: the hit is
 * counted (.missed), and the thread goes on.
 *
 * A thread pointer tells a thread only as long as that lives. Where the C library keeps the thread's id
 * at a fixed distance from it (the kernel writes it there when the thread is born), detours compare that
 * word with .self of the entry: one that was another thread's is over. Who shares a thread
 * pointer with others that live (a child of vfork()) has the same word, too, and is not told from them.
 *
 * Claims: rings that nobody has are offered in a row, .claims_end of them so far. A thread
 *
 *   1. takes a place in the table: its key becomes ring_key_busy(), by a locked compare, from RING_KEY_NONE
 *      or RING_KEY_FREE. A handler that interrupts it from now on finds that, and claims nothing;
 *   2. takes the offer number .claims_next, which it makes one more by a locked compare, if that is
 *      below .claims_end; if not, the place becomes RING_KEY_FREE;
 *   3. fills its entry by the offer, says in that who it is, .done last; then it sets its entry's key.
 *
 * Where threads know their ids in another pid namespace than ubp (.claims_wait), a fourth step follows: the thread waits, without a
 * call of the kernel, until ubp has looked who of its threads has that id in there (.known). One that has ended could not be
 * found any more. Its entry is whole by then, so handlers record meanwhile. It waits for some 80 to 1400 ms at most, then it
 * goes on, and makes .claims_wait 0, so that nobody waits before ubp has looked.
 *
 * ubp takes offers back in the same way, as number 2 says. It believes nothing of what a thread says without a look;
 * where the ring is, and where its positions begin, it knows by itself.
 *
 * A ring belongs to one thread, and to the signal handlers that interrupt it: bytes
 * are reserved by one unlocked add to .head (or by an exclusive pair), if that stays at or
 * below .limit; then the record is written, and its .commit last, with release: the reader,
 * which acquires it, is on another processor. A record starts at ring + (position & mask) and
 * may run on into the slack: the next one starts at its end's position & mask all the same, so
 * nothing wraps around inside a record. What was reserved may be shortened again while nothing
 * was reserved behind it.
 */

#ifndef UBP_BASE_RING_H
#define UBP_BASE_RING_H

#include <stdint.h>

#include "engine/base/ring_quick.h"

#define RING_CONTROL_LEN 4096ULL

/* The kernel sets this in .owner when the thread that holds the lock dies. */
#define RING_OWNER_DIED 0x40000000U

struct ring_control {
	uint32_t owner; /* the futex word of a robust lock that the tracing thread holds */
};

/* A mapping of the target that may be read without a fault, as far as is known:
 * page number of its start, and how many pages follow from there. 0: none. */
#define RING_PAGE_SHIFT            12
#define RING_RANGE_BITS            28
#define RING_RANGES                256
#define RING_CELLS                 32768
#define RING_COUNTS                32768
#define RING_RANGE(start, n_pages) ((uint64_t)(start) << RING_RANGE_BITS | (uint64_t)(n_pages))
/* Probes that a detour can have have numbers below this: each has a bit in ring_head.off. */
#define RING_SWITCHES (1U << 20)

struct ring_head {
	uint64_t n_ranges;
	uint64_t claims_next; /* offers that were taken */
	uint64_t claims_end;  /* that were made; ubp's */
	uint64_t
		missed; /* hits that would have taken a trap while nobody was there to take it */
	uint64_t
		bell; /* how often a thread has asked the tracer to come back (arch/detour.h) ... */
	uint64_t heard;   /* ... and does not wait for that any more ... */
	uint64_t in_vain; /* ... for it did not come in time */
	uint64_t
		left; /* returns that a longjmp() left, found in the way while nobody traced the process */
	uint64_t reads; /* 1: detours may read memory by a call of the kernel; ubp's */
	uint64_t ranges[RING_RANGES];
	/* Copies of ranges: each load of a detour has a cell, where it keeps the range
	 * that it found last, so that it mostly looks there alone. */
	uint64_t cells[RING_CELLS];
	/* Hits that a filter dropped before anything was written, by number of the probe
	 * modulo RING_COUNTS; only counted where the plan says so, by locked adds. */
	uint64_t dropped[RING_COUNTS];
	/*
	 * Probes that are switched off, bit by number: byte number / 8, bit number % 8. Detours look there before they do anything
	 * for a probe, so that one is switched on and off by one store of ubp's. Where its bit is 1 nothing is
	 * recorded, nothing is counted, and no return address is replaced.
	 */
	uint8_t off[RING_SWITCHES / 8];
	/*
	 * Calls of the kernel by detours (arch/x86/detour_read.c): how often a thread was about to set a filter for such calls. Once that is not 0
	 * none is begun. How many are under way; and how many there have been.
	 */
	uint64_t filters, reading, n_reads;
	uint64_t
		claims_wait; /* 1: who has claimed a ring waits until it is known who that is */
	/* As .dropped, of hits that sampling left out (base/sample_plan.h). */
	uint64_t left_out[RING_COUNTS];
};

#define RING_THREADS 4096

/* Never a key: see ring_key(). */
#define RING_KEY_NONE 0 /* ends a search */
#define RING_KEY_GONE 2 /* does not */
#define RING_KEY_FREE 4 /* does not; a thread may take the place */

struct ring_thread {
	uint64_t key;
	uint64_t head;  /* bytes ever reserved; the target's */
	uint64_t limit; /* .head may grow up to here; ubp's */
	uint64_t ring;  /* vaddr in the target */
	uint64_t mask;  /* capacity - 1 */
	uint64_t lost;  /* records for which there was no room; the target's */
	uint32_t tid;
	uint32_t self; /* what the thread's word must be, where detours look at that */
	uint64_t
		cpu_vaddr; /* of a 32-bit word with the number of its processor; 0: none is known */
};

/*
 * The stack that a thread began on, as far as a detour looks through it: at addresses from .lo
 * on, up to .end. All 0: it is not known.
 */
struct ring_stack {
	uint64_t lo, end;
};

/* A ring that is offered to who has none. The place in memory is that of its number modulo RING_CLAIMS. */
struct ring_claim {
	uint64_t head, limit, ring, mask; /* of struct ring_thread, to begin with; ubp's */
	uint64_t key;
	uint32_t tid;
	uint32_t slot;  /* of the entry in the table */
	uint32_t done;  /* the claim's number + 1: all is there */
	uint32_t known; /* the same, ubp's: it has looked who that is */
	uint64_t pad2;
};

#define RING_CLAIMS 1024

/* None of the numbers above, for thread pointers are multiples of 8. */
static inline uint64_t ring_key(uint64_t thread_pointer)
{
	return thread_pointer + 1;
}

#define RING_KEY_IS_BUSY 2

/* The thread with this key is about to fill the entry. */
static inline uint64_t ring_key_busy(uint64_t key)
{
	return key + RING_KEY_IS_BUSY;
}

#define RING_HASH_MUL   0x9e3779b97f4a7c15ULL
#define RING_HASH_SHIFT 52 /* leaves log2(RING_THREADS) bits */

static inline uint64_t ring_hash(uint64_t key)
{
	return (key * RING_HASH_MUL) >> RING_HASH_SHIFT;
}

/* The head of a record. Behind it is its data, as in event/record.h. */
struct ring_record {
	uint32_t size;   /* of all of it, a multiple of 8 */
	uint32_t commit; /* ring_commit(position of its start): it is complete */
	uint64_t time;   /* ticks of the processor's time stamp counter (arm64: CNTVCT_EL0) */
	uint32_t probe;  /* number in the session; RING_VOID: given up, to be skipped */
	uint16_t cpu;
	uint16_t data_len; /* with RING_STACK, perhaps */
	uint64_t vaddr;    /* of the probed place; return: of the function */
	uint64_t ret;      /* return: the real return address; entry: 0 */
};

/* In .cpu: the hit was to be counted in a table, which has no room for its key (base/tally_table.h). */
#define RING_NO_ENTRY 0x8000U
/* In .cpu: sampling has taken this hit (base/sample_plan.h); without it, of a probe that samples, ubp has to look. */
#define RING_SAMPLED 0x4000U

/* In .data_len: behind the data, 8-aligned, comes a stack: a word with the number of
 * its entries, up to RING_STACK_MAX, then these. */
#define RING_STACK     0x8000U
#define RING_STACK_MAX 127

#define RING_VOID 0xffffffffU

/* What was there from an earlier round must not look complete. */
static inline uint32_t ring_commit(uint64_t position)
{
	return (uint32_t)(position >> 3) + 1;
}

/* The longest record, and what must be left free for handlers that interrupt the
 * writing of one: .limit stays that far below what the ring can hold. */
#define RING_RECORD_MAX (4120 + 8 + 8 * RING_STACK_MAX)
#define RING_SLACK      8192ULL

#define RING_TABLE_AT  ((sizeof(struct ring_head) + 4095) / 4096 * 4096)
#define RING_STACKS_AT (RING_TABLE_AT + RING_THREADS * sizeof(struct ring_thread))
#define RING_CLAIMS_AT (RING_STACKS_AT + RING_THREADS * sizeof(struct ring_stack))
#define RING_RINGS_AT                                                                          \
	(RING_CLAIMS_AT + RING_CLAIMS * sizeof(struct ring_claim) + RING_QUICK_LEN)

/* Values of the gate, a word in memory that is the target's own (arch/guard.h), so that a child of fork()
 * has one of its own. Any other value is the base. */
#define RING_GATE_OFF  0 /* detours do nothing */
#define RING_GATE_TRAP 1 /* they take their trap */

#endif
