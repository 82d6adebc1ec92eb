/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Registers of a stopped thread, and the machine's clock. Built for the machine ubp
 * runs on. Each function on threads returns 0 or a negative errno (-ESRCH: the thread is gone or runs).
 */

#ifndef UBP_ARCH_HOST_H
#define UBP_ARCH_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"

/* The instruction set of the machine ubp itself runs on. */
const struct ubp_arch *ubp_host_arch(void);

/*
 * Can code in a program on this machine record without our help: find its thread, tell
 * the time and the processor (arch/detour.h)? False: *ret_why says what is missing.
 */
bool ubp_host_can_jump(const char **ret_why);

/* All general registers, one request. */
int ubp_host_get_regs(pid_t tid, struct ubp_regs *ret_regs);

/* The low halves of the vector registers, one request more. */
int ubp_host_get_vectors(pid_t tid, struct ubp_vectors *ret_vectors);

/* Put all back. Not on the hot path. */
int ubp_host_set_regs(pid_t tid, const struct ubp_regs *regs);

/* The pc alone: half the price. */
int ubp_host_get_pc(pid_t tid, uint64_t *ret_vaddr);
int ubp_host_set_pc(pid_t tid, uint64_t vaddr);

/*
 * The processor's time stamp counter, as detours stamp their records with it
 * (struct ring_record). It runs at one rate, whatever the processor does.
 */
uint64_t ubp_host_ticks(void);

/*
 * A stop can make a system call return EINTR that never would have by itself. For
 * a thread stopped on its way out of such a call, before signals are delivered:
 * ubp_host_redo_eintr() has the kernel make the call again, unless a handler runs
 * first; then it is EINTR, as it would have been without us.
 * ubp_host_keep_eintr(): it is the program's own; later redo_eintr() leave it.
 */
void ubp_host_redo_eintr(pid_t tid);
void ubp_host_keep_eintr(pid_t tid);

#endif
