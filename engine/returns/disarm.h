/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return addresses and unwinders. Before an unwinder looks, the real addresses are
 * put back, all of them. Once it is left, the innermost frame that is still there
 * is hijacked again, and when that returns, the next: so an exception that stops at
 * each of 100,000 frames costs no more than 100,000 times a few words.
 *
 * An unwinder is left by a ret or jump of its own: to its caller, or with the
 * stack pointer of the frame it lands in. Breakpoints stand on these. Where they
 * can't, the stack pointer at the next hit has to tell.
 */

#ifndef UBP_RETURNS_DISARM_H
#define UBP_RETURNS_DISARM_H

#include <stdint.h>

#include "engine/space/thread.h"
#include "engine/trace/process.h"

/*
 * @t, which stopped with @regs, is about to unwind its stack, or to read it: put back
 * the real return addresses further up, and those of its other stacks. @watches: of
 * the place where it stopped. Where one is in a register, @regs changes, for the caller to write;
 * behind that return_ops.disarm_signed() does what is left. True: one of ours was met, so breakpoints are to stand
 * where unwinders end.
 */
bool return_disarm(struct tracee *t, struct ubp_regs *regs, unsigned watches);

/*
 * @t is about to jump out of an unwinder, if that is where it goes, and will find
 * itself at @sp. What was below is gone and counts as missed, the innermost frame
 * above is hijacked again.
 */
void return_landed(struct tracee *t, uint64_t sp);

/*
 * Another stop of @t, at @sp: perhaps an unwinder was left whose end is not seen.
 * Not if it may still be at work: everything that it calls may be probed.
 */
void return_look_landed(struct tracee *t, uint64_t sp);

/* Hijack the return address at stack word @slot_vaddr again, if it was put back. */
void return_rearm_at(struct tracee *t, uint64_t slot_vaddr);

/* A signal is about to be delivered to @t. */
static inline void return_signal(struct tracee *t)
{
	t->probes->interrupts += t->probes->n_unwinders != 0;
}

#endif
