/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Threads that find their rings full, where nothing may be lost. */

#ifndef UBP_HIT_ROOM_H
#define UBP_HIT_ROOM_H

struct held;
struct hit;

/*
 * The thread has stopped in a detour, and what it came for is recorded. If its ring is full it stays a moment, until half of that is free: else
 * it would stop for each of the next hits, too. Others wait with it, so it is a moment only, and none where the reader does not come on.
 */
void room_wait(struct hit *hit, const struct held *held);

#endif
