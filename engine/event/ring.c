/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring.h"
#include "engine/event/ring_alone.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/event/ring_priv.h"
#include "engine/event/ring_record.h"

/* Address space that the rings of one target may take; memory they take as they fill. */
#define REGION_MAX (1ULL << 35)

int ring_set_new(const struct ring_options *options, struct ring_set **ret_set,
		 struct ubp_err *err)
{
	size_t bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES_DEFAULT;
	struct ring_set *set;

	if (bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX || (bytes & (bytes - 1)) != 0)
		return ubp_fail(err, EINVAL,
				"ring of %zu bytes: must be a power of two from %d to %u",
				bytes, RING_BYTES_MIN, RING_BYTES_MAX);
	set = calloc(1, sizeof(*set));
	if (!set)
		return ubp_fail(err, ENOMEM, "rings: out of memory");
	set->opt = *options;
	set->opt.ring_bytes = bytes;
	pthread_mutex_init(&set->lock, NULL);
	set->n_rings = ring_most(set, REGION_MAX);
	set->record = calloc(1, EVENT_RECORD_ROOM);
	set->dropped = calloc(RING_COUNTS, sizeof(*set->dropped));
	set->left_out = calloc(RING_COUNTS, sizeof(*set->left_out));
	set->off = calloc(1, RING_SWITCHES / 8);
	if (!set->record || !set->dropped || !set->left_out || !set->off) {
		ring_set_free(set);
		return ubp_fail(err, ENOMEM, "rings: out of memory");
	}
	ring_time_init(&set->time, options->clock, options->ticks);
	ring_rate_init(&set->rate, options->ticks);
	*ret_set = set;
	return 0;
}

void ring_set_free(struct ring_set *set)
{
	if (!set)
		return;
	while (set->spaces) {
		struct ring_space *next = set->spaces->next;

		if (set->spaces->owner)
			ring_owner_give(&set->owners, set->spaces->owner);
		ring_space_free(set->spaces);
		set->spaces = next;
	}
	pthread_mutex_destroy(&set->lock);
	heap_free(&set->heap);
	free(set->record);
	free(set->dropped);
	free(set->left_out);
	free(set->off);
	free(set);
}

/* Of eight probes, by one store: others that detours look at do not change in between. */
static void tell_off(const struct ring_set *set, struct ring_space *space, size_t byte)
{
	__atomic_store_n(&ring_head_of(space)->off[byte], set->off[byte], __ATOMIC_RELEASE);
}

void ring_set_switch(struct ring_set *set, unsigned number, bool on)
{
	uint8_t bit = (uint8_t)(1u << number % 8);

	if (number >= RING_SWITCHES)
		return;
	pthread_mutex_lock(&set->lock);
	set->off[number / 8] =
		(uint8_t)(on ? set->off[number / 8] & ~bit : set->off[number / 8] | bit);
	if (number / 8 >= set->n_off)
		set->n_off = number / 8 + 1;
	for (struct ring_space *space = set->spaces; space; space = space->next)
		tell_off(set, space, number / 8);
	pthread_mutex_unlock(&set->lock);
}

/* What is on was never written: a page of it that nobody looks at takes no memory. */
void ring_switches_begin(struct ring_space *space)
{
	for (size_t i = 0; i < space->set->n_off; i++)
		if (space->set->off[i])
			tell_off(space->set, space, i);
}

void ring_set_n_probes(struct ring_set *set, unsigned n_probes)
{
	if (n_probes > atomic_load(&set->n_probes))
		atomic_store(&set->n_probes, n_probes);
}

void ring_set_use_cells(struct ring_set *set, uint32_t n_cells)
{
	if (n_cells > RING_CELLS)
		n_cells = RING_CELLS;
	if (n_cells > set->n_cells)
		set->n_cells = n_cells;
}

uint64_t ring_set_ns_factor(const struct ring_set *set)
{
	return ring_rate_factor(&set->rate);
}

bool ring_set_is_used(const struct ring_set *set)
{
	return atomic_load(&set->n_spaces) != 0;
}

bool ring_set_has_more(const struct ring_set *set)
{
	return set->heap.n != 0;
}

uint64_t ring_set_known_until(const struct ring_set *set)
{
	return ring_set_is_used(set) ? set->hold_ns : UINT64_MAX;
}

uint64_t ring_counted(struct ring_set *set, const uint64_t *gone, size_t at, unsigned number)
{
	uint64_t n = gone[number % RING_COUNTS];

	pthread_mutex_lock(&set->lock);
	for (const struct ring_space *space = set->spaces; space; space = space->next) {
		const uint64_t *counts = (const uint64_t *)(space->region + at);

		n += __atomic_load_n(&counts[number % RING_COUNTS], __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&set->lock);
	return n;
}

uint64_t ring_set_dropped(struct ring_set *set, unsigned number)
{
	return ring_counted(set, set->dropped, offsetof(struct ring_head, dropped), number);
}

uint64_t ring_set_left(struct ring_set *set)
{
	uint64_t n;

	pthread_mutex_lock(&set->lock);
	n = set->left;
	for (const struct ring_space *space = set->spaces; space; space = space->next)
		n += __atomic_load_n(&ring_head_of(space)->left, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&set->lock);
	return n;
}

/* How much more than *@told is @count, which the target writes: a smaller number is no news. */
static uint64_t take_more(const uint64_t *count, uint64_t *told)
{
	uint64_t now = __atomic_load_n(count, __ATOMIC_RELAXED);
	uint64_t n = now > *told ? now - *told : 0;

	*told = now;
	return n;
}

uint64_t ring_take_missed(struct ring_space *space)
{
	return take_more(&ring_head_of(space)->missed, &space->missed);
}

/* Hits that nobody took since the last look. */
static uint64_t take_missed(struct ring_set *set)
{
	uint64_t n = 0;

	pthread_mutex_lock(&set->lock);
	for (struct ring_space *space = set->spaces; space; space = space->next)
		n += ring_take_missed(space);
	pthread_mutex_unlock(&set->lock);
	return n;
}

uint64_t ring_space_take_in_vain(struct ring_space *space)
{
	return take_more(&ring_head_of(space)->in_vain, &space->in_vain);
}

bool ring_space_waits(const struct ring_space *space)
{
	const struct ring_head *head = ring_head_of(space);
	uint64_t heard = __atomic_load_n(&head->heard, __ATOMIC_ACQUIRE);

	return heard < __atomic_load_n(&head->bell, __ATOMIC_RELAXED);
}

const uint64_t *ring_space_bell(const struct ring_space *space)
{
	return &ring_head_of(space)->bell;
}

const uint64_t *ring_space_missed(const struct ring_space *space)
{
	return &ring_head_of(space)->missed;
}

uint64_t ring_set_take_lost(struct ring_set *set)
{
	uint64_t lost = set->lost;

	set->lost = 0;
	return lost + take_missed(set);
}
