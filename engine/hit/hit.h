/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What happens at a stop: the hot path. One wait, the registers, one read of all
 * the memory that the fetch program needs, one write of the pc, go on. No
 * allocation (but for the table of hijacked returns), no output.
 */

#ifndef UBP_HIT_HIT_H
#define UBP_HIT_HIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/hit/state.h"

/* @hit, zeroed, deals with what stops in @tracer's processes, where @plant has planted. -ENOMEM. End it in any case. */
int hit_begin(struct hit *hit, struct tracer *tracer, struct plant *plant,
	      const struct hit_options *opt);
void hit_end(struct hit *hit);

/* SIGTRAP at a thread: carry out what a breakpoint of ours asks for. */
enum trap_verdict hit_trap(struct hit *hit, const struct held *held);

/* All that have stopped go on: the target's tables need not tell any more what the last one was about. */
void hit_idle(struct hit *hit);

/* Does a thread at @pc still have to report a trap of ours? (tracer_ops) */
bool hit_pc_has_trap(const struct tracee *t, uint64_t pc);

/*
 * A signal is about to be delivered: where the pc is inside a slot, put it where
 * it would be in the program, if that can be done without doing anything twice. True:
 * a detour's own fault, which the program is not to see.
 */
bool hit_signal(struct hit *hit, const struct held *held, int sig);

/* A thread is gone or has a new image: its open returns can't come. */
void hit_tracee_gone(struct tracee *t);

#endif
