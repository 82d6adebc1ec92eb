/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/frame_pointers.h"

size_t stack_walk(const struct ubp_arch *arch, const struct ubp_regs *regs,
		  const struct stack_source *source, uint64_t *stack, size_t max)
{
	uint64_t fp = regs->r[arch->reg.fp], sp = regs->r[arch->reg.sp];
	size_t n = 0;

	stack[n++] = regs->r[arch->reg.pc];
	/* Frames lie upwards; anything else is no chain of frame pointers. */
	while (n < max && fp >= sp && fp % arch->addr_size == 0) {
		uint64_t frame[2];

		if (!source->read(source->ctx, fp, frame) || frame[1] == 0)
			break;
		stack[n++] = source->real(source->ctx, fp + arch->addr_size, frame[1]);
		if (frame[0] <= fp)
			break;
		fp = frame[0];
	}
	return n;
}
