/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Registers of a stopped thread, and the machine's clock. Built for the machine ubp
 * runs on. Each function on threads returns 0 or a negative errno (-ESRCH: the thread is gone
 * or runs).
 */

#ifndef UBP_ARCH_HOST_H
#define UBP_ARCH_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"

/* The instruction set of the machine ubp itself runs on. */
const struct ubp_arch *ubp_host_arch(void);

/* Can a program of this instruction set be traced on this machine? */
bool ubp_host_traces(const struct ubp_arch *arch);

/*
 * Can code in a program on this machine record without our help: find its thread, tell
 * the time and the processor (arch/detour.h)? False: *ret_why says what is missing.
 */
bool ubp_host_can_jump(const char **ret_why);

/*
 * Which instructions may code in a program use here that not every machine has? Bits of the
 * instruction set's own (X86_HAS_*), for detour_plan.has. 0 is right everywhere.
 */
unsigned ubp_host_code_has(void);

/* All general registers, one request. */
int ubp_host_get_regs(pid_t tid, struct ubp_regs *ret_regs);

/* The low halves of the vector registers, one request more. */
int ubp_host_get_vectors(pid_t tid, struct ubp_vectors *ret_vectors);

/* What a thread's own memory is found by. @regs: those it has. */
int ubp_host_get_thread_pointer(const struct ubp_arch *arch, pid_t tid,
				const struct ubp_regs *regs, uint64_t *ret_tp);

/* Has the program told the kernel that it gives it addresses with tags (ubp_arch.tag_mask)? */
bool ubp_host_takes_tags(pid_t tid);

/*
 * Put all back. Not on the hot path. A system call that the thread is coming out of is not
 * made again by the kernel; one that it is about to enter is left out.
 */
int ubp_host_set_regs(pid_t tid, const struct ubp_regs *regs);
/* Registers of a thread that is about to enter a system call, which arch->call.enter() has made another: put them back. */
int ubp_host_set_call(pid_t tid, const struct ubp_regs *regs);

/* The pc alone: half the price, on some machines. */
int ubp_host_get_pc(pid_t tid, uint64_t *ret_vaddr);
int ubp_host_set_pc(pid_t tid, uint64_t vaddr);
/* ubp_host_set_pc() in one request: @regs are those it has, but for the pc. */
int ubp_host_move(pid_t tid, const struct ubp_regs *regs, uint64_t vaddr);

/*
 * Of a stopped thread, what a frame for the stub needs besides its registers
 * (arch->stub.frame()), and what a system call does not keep. -EBUSY: not at this moment;
 * -EOPNOTSUPP: it can't be kept. ubp_host_put_more() gives back what the call did not keep.
 */
int ubp_host_get_more(pid_t tid, struct ubp_more *ret_more, struct ubp_err *err);
void ubp_host_put_more(pid_t tid, const struct ubp_more *more);

/*
 * The processor's time stamp counter, as detours stamp their records with it
 * (struct ring_record). It runs at one rate, whatever the processor does.
 */
uint64_t ubp_host_ticks(void);

/*
 * A stop can make a system call return EINTR that never would have by itself. For
 * a thread stopped on its way out of such a call, before signals are delivered:
 * ubp_host_redo_eintr() has the call made again, unless a handler runs first; then it is EINTR,
 * as it would have been without us. @arch: the program's, whose numbers calls have.
 * ubp_host_keep_eintr(): it is the program's own; later redo_eintr() leave it.
 *
 * Some kernels see to the handler by themselves. Where they do not, ubp_host_is_broken_off()
 * says so, and ubp_host_keep_eintr() is to be called in front of a handler, even behind a redo.
 * And they do not tell what the call was: ubp_host_note_call() notes it for the next redo, just
 * before a thread is stopped.
 */
struct ubp_call {
	bool is_known;
	uint64_t nr, arg, sp, pc;
	uint64_t redo_pc;        /* where it was put back to; 0: it was not */
	uint64_t own_pc, own_sp; /* EINTR there is the program's own */
	bool is_watched;         /* it has stopped before: a handler could not run unseen */
};

/*
 * The memory of such a thread. Who touches it may have to wait for ever, so how it is read is up to the
 * caller. Returns whether all of it was read. *ret_is_known, false where it was not: nobody knows whether
 * something is there. @is_code: may be executed, and perhaps not read by the program itself.
 */
struct ubp_memory {
	bool (*read)(const void *ctx, pid_t tid, uint64_t vaddr, void *buf, size_t len,
		     bool is_code, bool *ret_is_known);
	const void *ctx;
};

void ubp_host_note_call(pid_t tid, struct ubp_call *call);
void ubp_host_redo_eintr(const struct ubp_arch *arch, pid_t tid, struct ubp_call *call,
			 const struct ubp_memory *memory);
bool ubp_host_is_broken_off(pid_t tid, const struct ubp_call *call,
			    const struct ubp_memory *memory);
void ubp_host_keep_eintr(pid_t tid, struct ubp_call *call, const struct ubp_memory *memory);

#endif
