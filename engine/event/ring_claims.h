/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Rings that threads claim by themselves: what the ring*.c of this folder call, under the space's lock. */

#ifndef UBP_EVENT_RING_CLAIMS_H
#define UBP_EVENT_RING_CLAIMS_H

#include "engine/event/ring_priv.h"

/* Who has taken an offer since the last look has a ring. True: somebody has. */
bool ring_claims_look(struct ring_space *space);
/* One that nobody has taken, FREE now; NULL: there is none. */
struct ring *ring_claims_take_back(struct ring_space *space);
/* By the delivering thread, without the lock: a look, and offers anew. */
void ring_claims_tend(struct ring_space *space);
/* The target is gone. */
void ring_claims_close(struct ring_space *space);

/* --- ring_space.c: a ring that is nobody's ------------------------------------------- */

/* NULL: there is none. */
struct ring *ring_find_free(struct ring_space *space);
/* It begins anew, without a thread. */
void ring_prepare(struct ring *ring);
/* The reader may see it, in that state. */
void ring_publish(struct ring *ring, uint32_t state);
/* .key and .tid are known to be its, and that its entry is @slot: 0 or -ENOSPC. */
int ring_enter(struct ring *ring, uint32_t slot);
void ring_unnamed(struct ring *ring);
/* Its thread has ended, or has another one. */
void ring_drop(struct ring *ring);

#endif
