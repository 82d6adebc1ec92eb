/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A part of the memory of rings (ring.h): a shorter way to a thread's ring, for detours that need nothing else of its entry. A thread is found by its
 * thread pointer alone, at the place that its bits lead to, or not at all. Only then is the word looked at that tells threads with one
 * pointer apart (.self): behind a pointer that ubp has not seen there may be no memory. ubp alone writes the table, while the thread has that
 * ring. Of threads with the same place only one has it; all others, and those whose claim ubp has not seen yet, are
 * found by their entries.
 */

#ifndef UBP_BASE_RING_QUICK_H
#define UBP_BASE_RING_QUICK_H

#include <stdint.h>

struct ring_quick {
	uint64_t thread_pointer; /* 0: nobody's */
	uint64_t ring;
	uint64_t self; /* 32 bits of it */
	uint64_t unused;
};

#define RING_QUICK       4096
#define RING_QUICK_LEN   (RING_QUICK * sizeof(struct ring_quick))
#define RING_QUICK_AT    (RING_RINGS_AT - RING_QUICK_LEN) /* ring.h */
#define RING_QUICK_MUL   0x1e3779b1U
#define RING_QUICK_SHIFT 32
#define RING_QUICK_MASK  ((RING_QUICK - 1) * 32U)

/* How far in the table. The place of 0, which a thread without a thread pointer comes to, is nobody's. */
static inline uint32_t ring_quick_place(uint64_t thread_pointer)
{
	return (uint32_t)(thread_pointer * RING_QUICK_MUL >> RING_QUICK_SHIFT) &
	       RING_QUICK_MASK;
}

#endif
