/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where unwinders begin: jumps to detours that look by themselves whether a replaced return address is on
 * the stack (detour_plan.scans). Without them each exception is a stop, as long as return addresses
 * may be replaced anywhere in the process.
 *
 * A detour looks through the stack that its thread began on, and only from there: frames on such a stack
 * are called by none but frames further up on it. The tracer tells it where that stack is, when
 * the thread has come by some times with nothing to do. A coroutine's stack, or a signal
 * handler's own, is never told: from there an unwinder may come to frames elsewhere, and
 * the tracer knows of those.
 */

#include "engine/plant/scan.h"

#include <string.h>

#include "engine/base/err.h"
#include "engine/os/maps.h"
#include "engine/plant/rings.h"
#include "engine/plant/watch.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"

/* So often in vain, then each time it is twice as often. */
#define VAIN_LEAST 4

bool scan_is_one(const struct site *site)
{
	return site->watches & WATCH_OWN_STACK && watch_is_unwinders(site);
}

/* --- stacks ------------------------------------------------------------------------- */

/*
 * The first thread's is the kernel's; others have their thread pointer at the end of theirs. Is it
 * the one at @sp? Its end; 0: it is not.
 */
static uint64_t end_of_own(const struct maps *maps, const struct tracee *t,
			   const struct mapping *m, uint64_t sp)
{
	uint64_t pointer = t->probes->thread_pointer & ~7ULL;

	if (t->tid == t->process->pid)
		return strcmp(m->path, "[stack]") == 0 ? m->end : 0;
	return pointer > sp && maps_at(maps, pointer - 1) == m ? pointer : 0;
}

void scan_note_stack(struct tracee *t, uint64_t sp, bool at_once)
{
	const struct plant_space *ps = t->process->space->plant;
	unsigned n = ++t->probes->scans_in_vain;
	const struct mapping *m;
	struct ubp_err ignored;
	struct maps maps;
	uint64_t end = 0;

	if (!rings_are_made(ps) || (n < VAIN_LEAST && !at_once) || (n & (n - 1)) != 0)
		return;
	if (maps_read(t->tid, &maps, &ignored) == 0) {
		m = maps_at(&maps, sp);
		if (m && m->read && m->write)
			end = end_of_own(&maps, t, m, sp);
		if (end)
			rings_set_stack(t, m->start, end);
	}
	maps_free(&maps);
}

/* The C library has a page below each stack that nobody may use. */
static bool has_guard_page(const struct maps *maps, const struct mapping *m)
{
	const struct mapping *below = maps_at(maps, m->start - 1);

	return below && !below->read && !below->write && !below->exec;
}

static const struct mapping *stack_of(const struct maps *maps, const struct tracee *t)
{
	const struct mapping *m = maps_at(maps, t->probes->thread_pointer - 1);

	if (t->tid != t->process->pid)
		return m && m->read && m->write && has_guard_page(maps, m) ? m : NULL;
	for (size_t i = 0; i < maps->n; i++)
		if (strcmp(maps->v[i].path, "[stack]") == 0)
			return &maps->v[i];
	return NULL;
}

void scan_tell_stacks(const struct process *p, const struct maps *maps)
{
	for (const struct tracee *t = p->tracees; t; t = t->next) {
		const struct mapping *m = t->probes->thread_pointer ? stack_of(maps, t) : NULL;
		uint64_t end = m ? end_of_own(maps, t, m, m->start) : 0;

		if (end)
			rings_set_stack(t, m->start, end);
	}
}
