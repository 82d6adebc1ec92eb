/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring_sample.h"

#include <stddef.h>
#include <sys/mman.h>

#include "engine/event/ring_priv.h"

static struct sample_word *word_of(const struct ring *ring, unsigned number)
{
	uint32_t at = ring_samples_at(ring->space->set);

	return at && number < SAMPLE_WORDS ? (struct sample_word *)(ring->bytes + at) + number
					   : NULL;
}

/* What the target writes is a number, whatever it is. */
static bool take(struct sample_word *word, uint32_t step, uint32_t every)
{
	int64_t given = __atomic_add_fetch(&word->given, step, __ATOMIC_RELAXED);

	for (;;) {
		int64_t used = __atomic_load_n(&word->used, __ATOMIC_RELAXED);

		if ((int64_t)((uint64_t)used + (uint64_t)given) < (int64_t)every)
			return false;
		if (__atomic_compare_exchange_n(&word->given, &given,
						(int64_t)((uint64_t)given - every), false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
}

bool ring_sample(struct ring *ring, unsigned number, uint32_t step, uint32_t every)
{
	struct sample_word *word = word_of(ring, number);

	return !word || take(word, step, every);
}

static struct sample_word *word_of_thread(struct ring_space *space, pid_t tid, unsigned number)
{
	struct ring *ring = ring_of_thread(space, tid);

	return ring ? word_of(ring, number) : NULL;
}

int ring_space_sample(struct ring_space *space, pid_t tid, unsigned number, uint32_t step,
		      uint32_t every)
{
	struct sample_word *word = word_of_thread(space, tid, number);

	return word ? take(word, step, every) : -1;
}

bool ring_space_give_sample(struct ring_space *space, pid_t tid, unsigned number,
			    uint32_t count)
{
	struct sample_word *word = word_of_thread(space, tid, number);

	if (word)
		__atomic_add_fetch(&word->given, count, __ATOMIC_RELAXED);
	return word;
}

void ring_sample_end(struct ring *ring)
{
	uint32_t at = ring_samples_at(ring->space->set);

	if (at)
		(void)madvise(ring->bytes + at, SAMPLE_AREA, MADV_REMOVE);
}

uint64_t ring_set_left_out(struct ring_set *set, unsigned number)
{
	/* A look gives a page memory. */
	if (!set->opt.sample)
		return 0;
	return ring_counted(set, set->left_out, offsetof(struct ring_head, left_out), number);
}
