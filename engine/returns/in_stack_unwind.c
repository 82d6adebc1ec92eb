/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/in_stack_unwind.h"

#include <string.h>

#include "engine/returns/in_stack_hijacks.h"
#include "engine/returns/limits.h"
#include "engine/returns/returns.h"
#include "engine/returns/word.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

/* Of a stack, looked through at once, bytes. */
#define STACK_CHUNK 0x2000

static void disarm_one(struct tracee *t, struct return_instance *ri, uint64_t sp,
		       struct return_list *list)
{
	if (write_word(t, ri->slot_vaddr, ri->real) < 0)
		return;
	returns_unlink(ri);
	returns_link(list, ri);
	ri->disarm_sp = sp;
}

/*
 * All that are on this stack, also those that others entered: a coroutine's that has
 * moved here from another thread, or that seemed to be left behind. They are found
 * by what stands in the stack.
 */
static void disarm_stack(struct tracee *t, uint64_t sp, struct return_list *list)
{
	const struct plant_space *ps = t->process->space->plant;
	size_t size = t->process->space->arch->addr_size;
	uint8_t words[STACK_CHUNK];

	for (uint64_t at = sp; at - sp < FRAME_MAX; at += sizeof(words)) {
		size_t got =
			mem_read(&t->process->space->mem, t->tid, at, words, sizeof(words));

		for (size_t i = 0; i + size <= got; i += size) {
			struct return_instance *ri;

			if (memcmp(words + i, &ps->ret->trampoline, size) != 0)
				continue;
			ri = map_get(&ps->ret->by_slot, at + i);
			if (ri && !ri->disarm_sp)
				disarm_one(t, ri, sp, list);
		}
		if (got < sizeof(words))
			return;
	}
}

/*
 * The thread's own. Some may be on other stacks, by large steps: the unwinder gets
 * there from the alternate stack of a signal handler.
 */
static void disarm_own(struct tracee *t, uint64_t sp, struct return_list *here,
		       struct return_list *far)
{
	const struct plant_space *ps = t->process->space->plant;
	struct return_instance *ri, *older;
	uint64_t last = sp;

	for (ri = t->probes->returns.newest; ri; ri = older) {
		bool is_here = ri->slot_vaddr >= last && ri->slot_vaddr - last < FRAME_MAX;
		uint64_t now = 0;

		older = ri->older;
		/* Below, on this very stack: left behind. */
		if (ri->slot_vaddr < sp && sp - ri->slot_vaddr < FRAME_MAX)
			continue;
		if (is_here)
			last = ri->slot_vaddr;
		if (read_word(t, ri->slot_vaddr, &now) == 0 && now == ps->ret->trampoline)
			disarm_one(t, ri, sp, is_here ? here : far);
	}
}

void in_stack_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches,
		     struct return_list *here, struct return_list *far)
{
	const struct plant_space *ps = t->process->space->plant;
	uint64_t sp = regs->r[t->process->space->arch->reg.sp];

	/* What is resumed has come by here before. */
	if (ps->hijack->code_vaddr && !(watches & WATCH_RESUME))
		in_stack_take_stacks(t, sp);
	if (!(watches & WATCH_RESUME) &&
	    ps->ret->by_slot.n > t->probes->returns.n + t->probes->disarmed.n)
		disarm_stack(t, sp, here);
	disarm_own(t, sp, here, far);
}
