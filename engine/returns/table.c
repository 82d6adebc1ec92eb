/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The return table in the target's memory (arch/guard.h): what the guard needs to
 * know of hijacked return addresses.
 */

#include <errno.h>
#include <stddef.h>

#include "arch/guard.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

#define LOOK_MAX 4096 /* entries of the table looked at for a free one */

/* An entry for @ri, + 1; 0: there is none near its place. */
static uint64_t find_index(const struct plant_space *ps, const struct return_instance *ri)
{
	for (uint64_t i = 0; i < LOOK_MAX && i <= ps->ret->mask; i++) {
		uint64_t index = (((ri->slot_vaddr >> 3) + i) & ps->ret->mask) + 1;
		const struct return_instance *other = map_get(&ps->ret->indexes, index);

		if (!other || other == ri)
			return index;
	}
	return 0;
}

/* Choose the entry of @ri: where it is, in *ret_entry. */
static int choose(struct plant_space *ps, struct return_instance *ri, uint64_t *ret_entry)
{
	uint64_t index = find_index(ps, ri);

	if (!index)
		return -ENOSPC;
	if (index != ri->index) {
		returns_forget(ps, ri);
		if (map_put(&ps->ret->indexes, index, ri) < 0)
			return -ENOMEM;
		ri->index = index;
	}
	*ret_entry = ps->ret->table + (index - 1) * sizeof(struct guard_return);
	return 0;
}

int returns_arm(const struct space *space, struct return_instance *ri, pid_t tid)
{
	struct plant_space *ps = space->plant;
	uint64_t entry = 0;
	int rc = ps->ret->table ? choose(ps, ri, &entry) : 0;

	return rc < 0 ? rc : return_ops(space)->write(space, ri, tid, entry);
}

/* Nobody looks for that entry, + 1, any more. */
static void clear_entry(const struct space *space, uint64_t index, pid_t tid)
{
	const struct plant_space *ps = space->plant;
	const uint64_t none = 0;

	/* Else somebody else has it already. */
	if (index && !map_get(&ps->ret->indexes, index))
		(void)mem_write(&space->mem, tid,
				ps->ret->table + (index - 1) * sizeof(struct guard_return) +
					offsetof(struct guard_return, real),
				&none, sizeof(none));
}

void returns_over(const struct space *space, const struct return_instance *ri, pid_t tid)
{
	struct plant_space *ps = space->plant;
	uint64_t over = ri->index;

	/* The thread goes on from the trampoline itself, and has not yet: should we be killed now, the
	 * guard looks for this entry. The thread of the one before has gone on by now. */
	if (!space->arch->trampoline.leave) {
		if (ps->ret->over == ri->index)
			return;
		over = ps->ret->over;
		ps->ret->over = ri->index;
	}
	clear_entry(space, over, tid);
}

void returns_gone_on(const struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;

	clear_entry(space, ps->ret->over, tid);
	ps->ret->over = 0;
}

void returns_forget(struct plant_space *ps, struct return_instance *ri)
{
	if (ri->index)
		map_remove(&ps->ret->indexes, ri->index);
	ri->index = 0;
}

/* --- while nobody traces the process ------------------------------------------------------ */

bool returns_find_home(const struct plant_space *ps)
{
	return !ps->ret->by_slot.n || (ps->ret->table && ps->stub);
}

int returns_set_trap(const struct space *space, pid_t tid, bool traps)
{
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;

	if (!ps->ret->trampoline)
		return 0;
	return mem_write(&space->mem, tid, ps->ret->trampoline,
			 traps ? arch->swbp.code : arch->trampoline.way_home, arch->swbp.len);
}

/* The guard notes whom it has sent home. */
static bool is_home(const struct space *space, const struct return_instance *ri)
{
	struct guard_return entry;
	uint64_t at = space->plant->ret->table + (ri->index - 1) * sizeof(entry);

	return ri->index && mem_peek(&space->mem, at, &entry, sizeof(entry)) == sizeof(entry) &&
	       entry.word == ri->slot_vaddr && !entry.real;
}

void returns_drop_home(const struct space *space)
{
	struct plant_space *ps = space->plant;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->ret->by_slot, &pos, NULL, &value)) {
		struct return_instance *ri = value;

		if (is_home(space, ri)) {
			ri->uncounted = false;
			returns_drop(ps, ri);
			pos = 0; /* the table has changed */
		}
	}
}
