/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return probes: hijacking the return address at entry, its way back. */

#ifndef UBP_RETURNS_ENTRY_H
#define UBP_RETURNS_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/space/space.h"
#include "engine/space/state.h"

struct return_entry;
struct tracee;
struct ubp_regs;

/*
 * The function at @entry->site was entered with these registers: make it
 * return to the trampoline. Where the return address is in one of them (RETURN_IN_REGISTER), it is
 * replaced there, and the caller is to write it back. A return address that is hijacked already
 * (tail call) gets one more function that returns there. One that the kernel has replaced may have
 * to stay as it is (kernel.h). @entry is copied; its .n_numbers: probes that came later do not tell this return: all
 * that there are (struct probe_list), or those that a detour was made for.
 */
void return_hijack(const struct plant *plant, struct tracee *t,
		   const struct return_entry *entry, struct ubp_regs *regs);

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

#endif
