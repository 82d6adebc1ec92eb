/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How much of a process's address space rings take: as much as its threads need, and little
 * of what a limit (RLIMIT_AS) leaves to it.
 *
 * The memory file is as long as it ever may become. The target maps the start of it; what
 * further threads need is mapped behind that when they come, by mremap() in place.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/event/ring.h"
#include "engine/event/ring_alone.h"
#include "engine/plant/area.h"
#include "engine/plant/rings.h"
#include "engine/space/ring_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

/* Of what a limit leaves to the process: 1 / PART at a time. */
#define PART 8
/* Rings for threads that may come while nobody traces the process: twice as many each time that hits were missed since. */
#define SPARE 64
/* In a program of 32 bits rings are that small that there is room for so many. */
#define RINGS_32   32
#define SPARE_MOST (RING_CLAIMS / 2)

/* Bytes that may be mapped into a process at a time: little of what RLIMIT_AS leaves to it. */
static uint64_t allowance(pid_t pid)
{
	uint64_t left = task_room_left(pid);

	return left == UINT64_MAX ? left : left / PART;
}

uint64_t rings_fit_table(pid_t pid, uint64_t most, uint64_t entry_len)
{
	uint64_t allowed = allowance(pid) / 2, n = most;

	while (n > UBP_RETURNS_LEAST && n * entry_len > allowed)
		n /= 2;
	return n;
}

/* Rings for the threads that there are, and some more. */
static size_t n_at_first(const struct tracee *t)
{
	size_t n = t->process->n_tracees;

	return n + n / 4 + 1;
}

size_t rings_bytes(const struct plant *plant, const struct tracee *t, uint64_t most)
{
	uint64_t allowed = allowance(t->process->pid);
	size_t n = n_at_first(t);

	/* The whole region is small: threads that come later find some, too. */
	if (most != UINT64_MAX && n < RINGS_32)
		n = RINGS_32;
	return ring_region_bytes(plant->opt.rings, n, most < allowed ? most : allowed);
}

size_t rings_first_part(const struct plant *plant, const struct tracee *t, size_t ring_bytes,
			size_t most)
{
	size_t n = n_at_first(t), allowed = allowance(t->process->pid), len;

	while (n > 1 && ring_region_part(plant->opt.rings, ring_bytes, n) > allowed)
		n /= 2;
	len = ring_region_part(plant->opt.rings, ring_bytes, n);
	if (len > allowed)
		return 0;
	return len < most ? len : most;
}

/* Rings for all threads, and at least twice as many bytes as there were. */
static size_t next_part(const struct plant *plant, const struct tracee *t)
{
	const struct plant_space *ps = t->process->space->plant;
	size_t threads = t->process->n_tracees;
	size_t len = ring_region_part(plant->opt.rings, ps->ring->ring_bytes,
				      threads + threads / 4 + 1);

	if (len < 2 * ps->ring->mapped)
		len = 2 * ps->ring->mapped;
	return len < ps->ring->most ? len : ps->ring->most;
}

static int map_more(const struct held *held, uint64_t len, struct ubp_err *err)
{
	const struct plant_space *ps = held->t->process->space->plant;
	const uint64_t args[6] = { ps->ring->base, ps->ring->mapped, len };
	int64_t result;
	int rc = area_call(held, ps->stub, held->t->process->space->arch->call.nr_mremap, args,
			   &result, err);

	if (rc < 0)
		return rc;
	return (uint64_t)result == ps->ring->base
		       ? 0
		       : ubp_fail(err, ENOMEM, "no room for more rings");
}

/* @len of them are to be mapped. */
static int grow_to(const struct held *held, size_t len, struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	pid_t tid = t->tid;
	int rc;

	if (len <= ps->ring->mapped || len - ps->ring->mapped > allowance(t->process->pid))
		return ubp_fail(err, ENOMEM, "no room for more rings");
	rc = map_more(held, len, err);
	if (rc < 0 || !held_lasts(held))
		return rc < 0 ? rc : ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	ps->ring->mapped = len;
	ring_space_set_mapped(ps->ring->rings, len);
	return rings_note_place(space, tid, ps->ring->base - RING_CONTROL_LEN,
				len + RING_CONTROL_LEN);
}

int rings_grow(const struct plant *plant, const struct held *held, struct ubp_err *err)
{
	return grow_to(held, next_part(plant, held->t), err);
}

static size_t spare(struct space_rings *ring)
{
	uint64_t missed =
		ring->rings ? __atomic_load_n(ring_space_missed(ring->rings), __ATOMIC_RELAXED)
			    : 0;

	if (!ring->spare)
		ring->spare = SPARE;
	else if (missed != ring->spare_missed && ring->spare < SPARE_MOST)
		ring->spare *= 2;
	ring->spare_missed = missed;
	return ring->spare;
}

int rings_spare(const struct plant *plant, const struct held *held, struct ubp_err *err)
{
	const struct plant_space *ps = held->t->process->space->plant;
	size_t len = ring_region_part(plant->opt.rings, ps->ring->ring_bytes,
				      2 * held->t->process->n_tracees + spare(ps->ring));

	if (len > ps->ring->most)
		len = ps->ring->most;
	return len > ps->ring->mapped ? grow_to(held, len, err) : 0;
}
