/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What keeps a target alive when ubp is killed: the SIGTRAP handler, and the page of data that it works on. */

#ifndef UBP_PLANT_GUARD_H
#define UBP_PLANT_GUARD_H

#include <stdbool.h>

struct held;
struct maps;
struct part_copied;
struct process;
struct tracee;
struct ubp_err;
struct ubp_regs;

/*
 * Is the SIGTRAP handler no longer the guard's? A breakpoint met while SIGTRAP is
 * blocked resets it (force_sig). Cheap as long as the thread's mask stays the same.
 */
bool guard_is_lost(struct tracee *t);

/*
 * Send a thread that stopped at a breakpoint on to @regs' pc by way of a system
 * call that installs the guard again. No other stop is needed. Returns 0 or -errno
 * (-EACCES: a seccomp filter may not let it); then it was sent nowhere.
 */
int guard_reinstall(struct tracee *t, const struct ubp_regs *regs);

/*
 * A SIGTRAP of the program's own is about to be delivered to the thread, in a process whose
 * guard was lost, or in which it blocked the signal. True: it is delivered later.
 * @at_site: its pc is where a breakpoint leaves a thread that, perhaps, only the guard knows.
 */
bool guard_defer(const struct held *held, bool at_site);

/* Has the program said nothing about SIGTRAP, so that one of its own ends it? */
bool guard_ends_by_trap(const struct process *p);

/* A process without guard, in a memory where others may have it, installs it. */
int plant_guard(const struct held *held, struct ubp_err *err);

/* Give the process its own handler back. */
int guard_uninstall(const struct held *held, struct ubp_err *err);

/*
 * Threads of the process that block SIGTRAP have it unblocked, as a breakpoint
 * would do; and blocked again by guard_close_mask(), each while it is held.
 */
void guard_open_masks(const struct held *held, const struct maps *maps);
/* guard_open_masks() of a held thread alone. */
void guard_open_mask(struct tracee *t, const struct maps *maps);
int guard_close_mask(struct tracee *t);

/*
 * The planter's side. First the page of data; the jumps from the program's calls
 * of rt_sigaction() may stand from then on. Then the handler, before the first
 * breakpoint.
 */
int guard_prepare(const struct held *held, struct ubp_err *err);
int guard_install(const struct held *held, struct ubp_err *err);

/* Room for hijacked return addresses. */
int guard_provide_returns(const struct held *held, struct ubp_err *err);

/* struct part: the copy's guard is told that it is the child's. */
int guard_copy(const struct part_copied *c);

#endif
