/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard (arch/guard.h), and the calls that lead to it. What struct ubp_arch (arch/arch.h)
 * has a member for is described there.
 */

#ifndef UBP_ARCH_ARM64_GUARD_H
#define UBP_ARCH_ARM64_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* The guard's code: see guard.S. Offsets as guard_code.h has them. */
#define ARM64_GUARD_HANDLER      0x000
#define ARM64_GUARD_RESTORER     0x510
#define ARM64_GUARD_LEN          0x8b4
#define ARM64_SIGACTION_CALL_LEN 4
#define ARM64_N_SIGACTION_CALLS  3
extern const uint8_t arm64_guard[ARM64_GUARD_LEN];
extern const uint8_t arm64_sigaction_calls[ARM64_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];

/* Does @code change an action or a mask? *ret_at: the instruction to replace. */
bool arm64_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at);
/* The jump that replaces that, and the slot that it leads to. */
int arm64_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			       uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			       struct slot_code *ret_code, struct ubp_err *err);

#endif
