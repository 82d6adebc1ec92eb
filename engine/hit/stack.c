/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/stack.h"

#include "engine/plant/plant.h"

static uint64_t real_return(const struct plant_space *ps, uint64_t slot_vaddr, uint64_t found)
{
	const struct return_instance *ri;

	if (!ps || found != ps->trampoline)
		return found;
	ri = map_get(&ps->returns, slot_vaddr);
	return ri ? ri->real : found;
}

size_t stack_take(const struct tracee *t, const struct ubp_regs *regs, uint64_t *stack,
		  size_t max)
{
	const struct space *space = t->process->space;
	const struct ubp_arch *arch = space->arch;
	uint64_t fp = regs->r[arch->fp], sp = regs->r[arch->sp];
	size_t n = 0;

	stack[n++] = regs->r[arch->pc];
	/* Frames lie upwards; anything else is no chain of frame pointers. */
	while (n < max && fp >= sp && fp % arch->addr_size == 0) {
		uint64_t frame[2]; /* caller's frame pointer, return address */

		if (mem_read(t->tid, fp, frame, sizeof(frame)) != sizeof(frame) ||
		    frame[1] == 0)
			break;
		stack[n++] = real_return(space->plant, fp + arch->addr_size, frame[1]);
		if (frame[0] <= fp)
			break;
		fp = frame[0];
	}
	return n;
}
