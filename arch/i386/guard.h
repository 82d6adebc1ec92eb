/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard (arch/guard.h), and the calls that lead to it. What struct ubp_arch (arch/arch.h)
 * has a member for is described there.
 */

#ifndef UBP_ARCH_I386_GUARD_H
#define UBP_ARCH_I386_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Does @code change an action or a mask? *ret_at: the instruction to replace. */
bool i386_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at);
/* The jump that replaces that, and the slot that it leads to. */
int i386_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			      uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			      struct slot_code *ret_code, struct ubp_err *err);

/* The guard's code: see guard.S. */
#define I386_GUARD_LEN           0x829
#define I386_GUARD_HANDLER       0
#define I386_GUARD_RESTORER      0x4c0
#define I386_SIGACTION_CALL_LEN  5
#define I386_SIGACTION_PATCH_LEN 5
#define I386_N_SIGACTION_CALLS   2
extern const uint8_t i386_guard[I386_GUARD_LEN];
extern const uint8_t i386_sigaction_calls[I386_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];

#endif
