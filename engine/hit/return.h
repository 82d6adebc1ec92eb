/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return probes: hijacking the return address at entry, its way back. */

#ifndef UBP_HIT_RETURN_H
#define UBP_HIT_RETURN_H

#include "engine/plant/plant.h"
#include "engine/trace/tracer.h"

/*
 * The function at @site was entered with its return address at @sp: make it
 * return to the trampoline. A return address that is hijacked already (tail
 * call) gets one more function that returns there.
 */
void return_hijack(struct tracee *t, struct site *site, uint64_t sp);

/*
 * A thread arrived at the trampoline with stack pointer @sp: put the real address
 * where the trampoline's jump takes it from, and take the instance out of the
 * table. The caller frees it (returns_free_one). NULL: not known.
 */
struct return_instance *return_take(struct tracee *t, uint64_t sp);

/*
 * @t is about to unwind its stack, or to read it: put back the real return
 * addresses that stand at @sp or above, and those of its other stacks.
 */
void return_disarm(struct tracee *t, uint64_t sp);

/*
 * A later stop of @t, at @sp. If the unwinder has been left (it landed in a frame
 * above its own, or returned): what stands above @sp is hijacked again, what was
 * below is gone and counts as missed. Not before: everything that the unwinder
 * calls may be probed, and it still reads the stack. @is_certain: the place where
 * @t stopped says that it was left; else only the stack pointer does, which
 * proves nothing once a signal handler may run on a stack of its own.
 */
void return_rearm(struct tracee *t, uint64_t sp, bool is_certain);

/*
 * The return address at the stack pointer of a thread with @regs, the real one.
 * False: it can't be read.
 */
bool return_address(const struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_address);

/* A signal is about to be delivered to @t. */
static inline void return_signal(struct tracee *t)
{
	t->disarm_signal = t->disarm_sp != 0;
}

/* Count what is still open in a thread that is gone, or left its image, as missed. */
void return_thread_ended(struct tracee *t);

#endif
