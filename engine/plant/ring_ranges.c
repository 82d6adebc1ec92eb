/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What of the program's memory detours may read (engine/base/ring.h): ranges, while somebody makes a fault good; else by calls of the kernel. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/event/ring.h"
#include "engine/event/ring_alone.h"
#include "engine/os/maps.h"
#include "engine/plant/rings.h"
#include "engine/space/ring_part.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

bool rings_may_read(const struct plant_space *ps, uint64_t vaddr)
{
	uint64_t page = vaddr >> RING_PAGE_SHIFT;

	for (size_t i = 0; i < ps->ring->n_ranges; i++)
		if (page - (ps->ring->ranges[i] >> RING_RANGE_BITS) <
		    (ps->ring->ranges[i] & ((1ULL << RING_RANGE_BITS) - 1)))
			return true;
	return false;
}

/*
 * Devices may do something when they are read; vvar may not be there. The loader's cache is unmapped before the program begins, and
 * what is mapped next takes its place, which the program may unmap when it has blocked or ignored what that makes.
 */
static bool is_plain(const struct mapping *m)
{
	if (!m->read || strncmp(m->path, "[vvar", 5) == 0 ||
	    strcmp(m->path, "[vsyscall]") == 0 || strcmp(m->path, "/etc/ld.so.cache") == 0 ||
	    strncmp(m->path, "/memfd:ubp", 10) == 0)
		return false;
	return strncmp(m->path, "/dev/", 5) != 0 || strncmp(m->path, "/dev/shm/", 9) == 0 ||
	       strncmp(m->path, "/dev/zero", 9) == 0;
}

static bool is_wanted(uint64_t lo, uint64_t hi, const uint64_t *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i] >= lo && wanted[i] < hi)
			return true;
	return false;
}

/* The run of mappings that starts with @i: where it ends, and who is behind it. */
static size_t run_of(const struct maps *maps, size_t i, uint64_t *ret_end)
{
	*ret_end = maps->v[i].end;
	for (i++; i < maps->n && maps->v[i].start == *ret_end && is_plain(&maps->v[i]); i++)
		*ret_end = maps->v[i].end;
	return i;
}

/* The runs that hold something that is wanted, or the others. Returns how many there are then, at most RING_RANGES. */
static size_t add_ranges(const struct maps *maps, const uint64_t *wanted, size_t n_wanted,
			 bool wants, struct mem_range *ranges, size_t n_ranges)
{
	size_t i = 0;

	while (i < maps->n && n_ranges < RING_RANGES) {
		uint64_t start = maps->v[i].start, end, n;

		if (!is_plain(&maps->v[i])) {
			i++;
			continue;
		}
		i = run_of(maps, i, &end);
		n = (end - start) >> RING_PAGE_SHIFT;
		if (n < 1ULL << RING_RANGE_BITS &&
		    is_wanted(start, end, wanted, n_wanted) == wants)
			ranges[n_ranges++] =
				(struct mem_range){ .start = start, .len = end - start };
	}
	return n_ranges;
}

/* What may not answer is for the tracer, who does not wait: the thread would, in a detour. */
static void note_ranges(const struct space *space, pid_t tid, const struct maps *maps,
			const uint64_t *wanted, size_t n_wanted)
{
	struct plant_space *ps = space->plant;
	struct mem_range ranges[RING_RANGES];
	size_t n = add_ranges(maps, wanted, n_wanted, true, ranges, 0);

	n = add_ranges(maps, wanted, n_wanted, false, ranges, n);
	mem_answers_all(&space->mem, tid, ranges, n);
	for (size_t i = 0; i < n; i++)
		if (ranges[i].answers)
			ps->ring->ranges[ps->ring->n_ranges++] =
				RING_RANGE(ranges[i].start >> RING_PAGE_SHIFT,
					   ranges[i].len >> RING_PAGE_SHIFT);
}

/*
 * A fault in a thread that has blocked it costs the program its setting: the kernel unblocks the signal and forgets its handler,
 * and nobody can say afterwards what they were. So nothing is read that may make one while there is such a thread.
 */
#define FAULTS (TASK_SIG_BIT(SIGSEGV) | TASK_SIG_BIT(SIGBUS))

static void note_blocked(const struct tracee *t, uint64_t mask)
{
	t->probes->blocked_faults = mask & FAULTS;
	t->probes->has_blocked_faults = true;
}

/* Who was seen with them open may have blocked them since: its next stop shows that. */
static bool any_blocks_faults(struct space *space)
{
	for (const struct tracee *t = NULL; (t = space_next(space, t));) {
		if (t->probes->has_blocked_faults && !t->probes->blocked_faults)
			continue;
		note_blocked(t, task_blocked(t->tid));
		if (t->probes->blocked_faults)
			return true;
	}
	return false;
}

void rings_note_mask(const struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	uint64_t mask;

	if (task_get_mask(t->tid, &mask) < 0)
		return;
	note_blocked(t, mask);
	if (!t->probes->blocked_faults || !ps->ring->rings || !ps->ring->n_ranges)
		return;
	ps->ring->n_ranges = 0;
	ring_space_set_ranges(ps->ring->rings, ps->ring->ranges, 0);
}

/* Whether it was blocked is told by the other one, which is still blocked now: hardly a program blocks just one of them. */
void rings_block_again(const struct tracee *t, int sig)
{
	const struct thread_probes *seen = t->probes;
	uint64_t mask, bit = TASK_SIG_BIT(sig), other = FAULTS & ~bit;

	if (task_get_mask(t->tid, &mask) < 0 || mask & bit)
		return;
	if (mask & other && seen->blocked_faults != other)
		(void)task_set_mask(t->tid, mask | bit);
}

void rings_look_around(struct space *space, pid_t tid, const uint64_t *wanted, size_t n)
{
	struct plant_space *ps = space->plant;
	struct ubp_err err;
	struct maps maps;

	if (!ps->ring->rings || ps->ring->is_distrusted)
		return;
	if (!ps->ring->ranges)
		ps->ring->ranges = calloc(RING_RANGES, sizeof(*ps->ring->ranges));
	if (!ps->ring->ranges)
		return;
	ps->ring->ranges_ns = event_clock_now(CLOCK_KIND_MONO);
	ps->ring->n_ranges = 0;
	/* What is unmapped later would be a fault, of which they would lose their setting. */
	if (!task_ignores(tid, SIGSEGV) && !task_ignores(tid, SIGBUS) &&
	    !any_blocks_faults(space)) {
		if (maps_read(tid, &maps, &err) == 0)
			note_ranges(space, tid, &maps, wanted, n);
		maps_free(&maps);
	}
	ring_space_set_ranges(ps->ring->rings, ps->ring->ranges, ps->ring->n_ranges);
}

uint64_t rings_looked_ns(const struct plant_space *ps)
{
	return ps->ring->ranges_ns;
}

/* --- while nobody makes a fault good ------------------------------------------------- */

void rings_distrust(struct plant_space *ps)
{
	ps->ring->is_distrusted = true;
	ring_space_set_ranges(ps->ring->rings, ps->ring->ranges, 0);
}

void rings_trust(struct plant_space *ps)
{
	if (!ps->ring->is_distrusted)
		return;
	ps->ring->is_distrusted = false;
	ring_space_set_reads(ps->ring->rings, false);
	/* What there was may be gone: the next stop looks again. */
	ps->ring->n_ranges = 0;
	ps->ring->ranges_ns = 0;
}

void rings_let_read(const struct plant_space *ps)
{
	ring_space_set_reads(ps->ring->rings, true);
}

bool rings_are_filtered(const struct plant_space *ps)
{
	return ps->ring->rings && ring_space_filters(ps->ring->rings);
}
