/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The return table in the target's memory (arch/guard.h): what the guard needs to
 * know of hijacked return addresses.
 */

#include <errno.h>
#include <stddef.h>
#include <sys/uio.h>

#include "arch/guard.h"
#include "engine/plant/plant.h"

#define LOOK_MAX 4096 /* entries of the table looked at for a free one */

/* An entry for @ri, + 1; 0: there is none near its place. */
static uint64_t find_index(const struct plant_space *ps, const struct return_instance *ri)
{
	for (uint64_t i = 0; i < LOOK_MAX && i <= ps->ret.mask; i++) {
		uint64_t index = (((ri->slot_vaddr >> 3) + i) & ps->ret.mask) + 1;
		const struct return_instance *other = map_get(&ps->ret.indexes, index);

		if (!other || other == ri)
			return index;
	}
	return 0;
}

int returns_arm(const struct space *space, struct return_instance *ri, pid_t tid)
{
	struct plant_space *ps = space->plant;
	struct guard_return entry = { ri->slot_vaddr, ri->real };
	struct iovec from[2] = { { &entry, sizeof(entry) },
				 { &ps->ret.trampoline, space->arch->addr_size } };
	struct iovec to[2] = { { NULL, sizeof(entry) },
			       { (void *)(uintptr_t)ri->slot_vaddr, space->arch->addr_size } };
	uint64_t index;
	int rc;

	if (!ps->ret.table)
		return arch_has_link(space->arch)
			       ? 0
			       : mem_write(&space->mem, tid, ri->slot_vaddr,
					   &ps->ret.trampoline, space->arch->addr_size);
	index = find_index(ps, ri);
	if (!index)
		return -ENOSPC;
	if (index != ri->index) {
		returns_forget(ps, ri);
		if (map_put(&ps->ret.indexes, index, ri) < 0)
			return -ENOMEM;
		ri->index = index;
	}
	to[0].iov_base = (void *)(uintptr_t)(ps->ret.table + (index - 1) * sizeof(entry));
	/* The address is in a register: written later, with all of them. */
	if (arch_has_link(space->arch))
		return mem_write(&space->mem, tid, (uint64_t)(uintptr_t)to[0].iov_base, &entry,
				 sizeof(entry));
	/* In this order: whoever dies in between, no word is without its entry. */
	if (mem_is_sure(&space->mem, tid) &&
	    process_vm_writev(tid, from, 2, to, 2, 0) ==
		    (ssize_t)(sizeof(entry) + space->arch->addr_size))
		return 0;
	rc = mem_write(&space->mem, tid, (uint64_t)(uintptr_t)to[0].iov_base, &entry,
		       sizeof(entry));
	return rc < 0 ? rc
		      : mem_write(&space->mem, tid, ri->slot_vaddr, &ps->ret.trampoline,
				  space->arch->addr_size);
}

void returns_over(const struct space *space, const struct return_instance *ri, pid_t tid)
{
	struct plant_space *ps = space->plant;
	const uint64_t none = 0;
	uint64_t over = ri->index;

	/* The thread goes on from the trampoline itself, and has not yet: should we be killed now, the
	 * guard looks for this entry. The thread of the one before has gone on by now. */
	if (!space->arch->trampoline.leave) {
		if (ps->ret.over == ri->index)
			return;
		over = ps->ret.over;
		ps->ret.over = ri->index;
	}
	/* Else somebody else has it already. */
	if (over && !map_get(&ps->ret.indexes, over))
		(void)mem_write(&space->mem, tid,
				ps->ret.table + (over - 1) * sizeof(struct guard_return) +
					offsetof(struct guard_return, real),
				&none, sizeof(none));
}

void returns_forget(struct plant_space *ps, struct return_instance *ri)
{
	if (ri->index)
		map_remove(&ps->ret.indexes, ri->index);
	ri->index = 0;
}
