/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Slots without a mapping of our own. The last page of a file's code is mapped
 * whole; behind the code it holds zeros that nothing uses. What an earlier
 * session left there stays, a thread may be in it: only what is still zero is
 * taken.
 */

#include "engine/plant/area_in_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/plant/areas.h"
#include "engine/plant/hooks.h"
#include "engine/returns/returns.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define ALIGN 16

/* Zero bytes up to @end, of at most a page. Returns where they start, or 0. */
static uint64_t zeros_before(const struct trace_mem *mem, pid_t tid, uint64_t from,
			     uint64_t end)
{
	uint8_t bytes[PAGE];
	size_t len = end - from, at = len;

	if (len > sizeof(bytes) || mem_read(mem, tid, from, bytes, len) != len)
		return 0;
	while (at > 0 && bytes[at - 1] == 0)
		at--;
	/* Code may end in zeros. */
	at += at ? UBP_SLOT_SIZE : 0;
	return (from + at + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/* The unused bytes behind the code in @m. False: there are none. */
static bool unused_in(struct plant *plant, struct space *space, pid_t pid,
		      const struct mapping *m, uint64_t *ret_from, uint64_t *ret_end)
{
	uint64_t from, len;

	if (!hooks_unused_bytes(plant, &space->cost, pid, m, &from, &len) ||
	    len < UBP_SLOT_SIZE)
		return false;
	*ret_end = from + len;
	*ret_from = zeros_before(&space->mem, pid, from, *ret_end);
	return *ret_from != 0;
}

static struct area *area_at(uint64_t from, uint64_t end)
{
	struct area *area = calloc(1, sizeof(*area));

	if (!area)
		return NULL;
	area->vaddr = from;
	area->len = (end - from) / UBP_SLOT_SIZE * UBP_SLOT_SIZE;
	if (area_make_tables(area, false) < 0) {
		free(area);
		return NULL;
	}
	return area;
}

/* The return trampoline is the one thing that a space must have. */
static int furnish(struct space *space, struct plant_space *ps, struct area *area, pid_t tid)
{
	struct slot_code code;
	int rc;

	/* There is no guard here. */
	if (returns_trampoline(ps) || space->arch->trampoline.needs_guard)
		return 0;
	space->arch->trampoline.build(&code);
	rc = mem_write(&space->mem, tid, area->vaddr, code.code, code.len);
	if (rc < 0)
		return rc;
	area->used = UBP_SLOT_SIZE;
	returns_set_trampoline(ps, area->vaddr);
	return 0;
}

/* Room that is left in an area of before. */
static struct area *area_in(const struct plant_space *ps, const struct mapping *m)
{
	struct area *a = ps->areas;

	while (a && (a->vaddr < m->start || a->vaddr >= m->end))
		a = a->next;
	return a;
}

static bool within(uint64_t from, uint64_t end, uint64_t lo, uint64_t hi, uint64_t reach)
{
	return (end > hi ? end : hi) - (from < lo ? from : lo) < reach;
}

int area_in_file_provide(struct plant *plant, struct tracee *t, const struct maps *maps,
			 uint64_t lo, uint64_t hi, struct area **ret_area, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;

	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		struct area *area;
		uint64_t from, end;

		if (!m->exec || m->write || !m->ino ||
		    !within(m->start, m->end, lo, hi, space->arch->near_max))
			continue;
		*ret_area = area_in(ps, m);
		if (*ret_area)
			return 0;
		if (!unused_in(plant, space, t->process->pid, m, &from, &end) ||
		    end - from < 2 * UBP_SLOT_SIZE)
			continue;
		area = area_at(from, end);
		if (!area || furnish(space, ps, area, t->tid) < 0) {
			area_free_all(area);
			return ubp_fail(err, ENOMEM, "no memory for slots");
		}
		area->next = ps->areas;
		ps->areas = area;
		*ret_area = area;
		return 0;
	}
	return ubp_fail(err, ENOSPC, "no unused bytes near the code of process %d",
			(int)t->process->pid);
}
