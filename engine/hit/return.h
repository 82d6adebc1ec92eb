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
 * table. The caller frees it. NULL: not known.
 */
struct return_instance *return_take(struct tracee *t, uint64_t sp);
void return_free(struct return_instance *ri);

/*
 * @t is about to unwind its stack, or to read it: put all real return addresses
 * back that stand at @sp or above.
 */
void return_disarm(struct tracee *t, uint64_t sp);

/*
 * A later stop of @t, at @sp. If the unwinder has been left (it landed in a frame
 * above its own, or returned): what stands above @sp is hijacked again, what was
 * below is gone and counts as missed. Not before: everything that the unwinder
 * calls may be probed, and it still reads the stack.
 */
void return_rearm(struct tracee *t, uint64_t sp);

/* Count what is still open in a thread that is gone as missed. */
void return_thread_ended(struct tracee *t);

#endif
