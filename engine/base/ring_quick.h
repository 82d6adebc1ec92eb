/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A part of the memory of rings (ring.h): a shorter way to a thread's ring, for detours that need nothing else of its entry: its tag is made of the thread pointer and of the word
 * that tells threads apart (.self), and is found by the tag's own bits at once, or not at all. ubp alone writes it, while the thread has that
 * ring. Of threads with the same place only one has it; all others, and those whose claim ubp has not seen yet, are
 * found by their entries.
 */

#ifndef UBP_BASE_RING_QUICK_H
#define UBP_BASE_RING_QUICK_H

#include <stdint.h>

struct ring_quick {
	uint64_t tag; /* 0: none */
	uint64_t ring;
};

#define RING_QUICK      4096
#define RING_QUICK_LEN  (RING_QUICK * sizeof(struct ring_quick))
#define RING_QUICK_AT   (RING_RINGS_AT - RING_QUICK_LEN) /* ring.h */
#define RING_QUICK_MUL  0x1e3779b1U
#define RING_QUICK_MASK ((RING_QUICK - 1) * 16U) /* of a tag: how far in the table */

static inline uint64_t ring_quick_tag(uint64_t thread_pointer, uint32_t self)
{
	return thread_pointer + (uint64_t)self * RING_QUICK_MUL;
}

#endif
