/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return probes: hijacking the return address at entry, its way back. */

#ifndef UBP_HIT_RETURN_H
#define UBP_HIT_RETURN_H

#include "engine/plant/plant.h"
#include "engine/trace/tracer.h"

/*
 * The function at @site was entered with these registers: make it
 * return to the trampoline. Where the return address is in one of them (ubp_arch.link), it is
 * replaced there, and the caller is to write it back. A return address that is hijacked already
 * (tail call) gets one more function that returns there. One that the kernel has replaced may have
 * to stay as it is (plant/kernel.h). @now_ns: in CLOCK_KIND_MONO.
 */
void return_hijack(const struct plant *plant, struct tracee *t, struct site *site,
		   struct ubp_regs *regs, uint64_t now_ns);

/*
 * A thread arrived at the trampoline with these registers: put the real address
 * where the trampoline's jump takes it from (as return_hijack()), and take the instance out of
 * the table. The caller sends the thread on, calls returns_over(), and frees it
 * (returns_free_one). NULL: not known.
 */
struct return_instance *return_take(struct tracee *t, struct ubp_regs *regs);

/*
 * The return address at the stack pointer of a thread with @regs, the real one.
 * False: it can't be read.
 */
bool return_address(const struct tracee *t, const struct ubp_regs *regs, uint64_t *ret_address);

/* Its frame is gone: count as missed, unless it is already, and free. */
void return_forget(struct plant_space *ps, struct return_instance *ri);

/*
 * A thread is about to end: what detours have replaced in its stacks is the tracer's from now on,
 * so return_thread_ended() counts it.
 */
void return_thread_ends(struct tracee *t);

/* A thread is about to execute a program: what detours have replaced is noted while it can be seen. */
void return_execs(struct tracee *t);

/* Count what is still open in a thread that is gone, or left its image, as missed. */
void return_thread_ended(struct tracee *t);

#endif
