/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/room.h"

#include <time.h>

#include "engine/event/ring.h"
#include "engine/hit/state.h"
#include "engine/plant/rings.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"

#define FULL_PERCENT 6        /* so much room or less: it is full */
#define WAIT_NS      20000000 /* the reader may not have had a processor */
#define STEP_NS      50000
#define HASTE_NS     50000000

static int room_of(const struct held *held)
{
	return ring_space_room(rings_of(held->t->process->space->plant), held->tid);
}

void room_wait(struct hit *hit, const struct held *held)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t begin;
	int room;

	if (!hit->opt.lossless || !rings_are_made(held->t->process->space->plant))
		return;
	room = room_of(held);
	if (room < 0 || room > FULL_PERCENT)
		return;
	begin = event_clock_now(CLOCK_KIND_MONO);
	if (begin < hit->hasty_ns)
		return;
	hit->opt.full(hit->opt.ctx);
	while ((room = room_of(held)) >= 0 && room < 50) {
		if (event_clock_now(CLOCK_KIND_MONO) - begin > WAIT_NS) {
			hit->hasty_ns = begin + HASTE_NS;
			return;
		}
		(void)nanosleep(&step, NULL);
	}
}
