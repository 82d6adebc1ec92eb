/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard (arch/guard.h), and the calls that lead to it. What struct ubp_arch (arch/arch.h)
 * has a member for is described there.
 */

#ifndef UBP_ARCH_X86_GUARD_H
#define UBP_ARCH_X86_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/x86/guard_code.h"

/* The jump that replaces that, and the slot that it leads to. */
int x86_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			     uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			     struct slot_code *ret_code, struct ubp_err *err);

/* The guard's code: see guard.S. */
#define X86_GUARD_LEN           GUARD_CODE_END
#define X86_SIGACTION_CALL_LEN  7
#define X86_SIGACTION_PATCH_LEN 5
extern const uint8_t x86_guard[X86_GUARD_LEN];
#define X86_N_SIGACTION_CALLS 3
extern const uint8_t x86_sigaction_calls[X86_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];

#endif
