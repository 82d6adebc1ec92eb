/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours (arch/detour.h). What struct ubp_arch (arch/arch.h) has a member for is described
 * there.
 */

#ifndef UBP_ARCH_X86_DETOUR_H
#define UBP_ARCH_X86_DETOUR_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* The detour for a site. */
int x86_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		     struct ubp_err *err);
/* What detours replace return addresses by. */
int x86_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			  uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err);
/* By which threads claim rings. */
int x86_build_claim_code(int32_t self_at, unsigned has, uint8_t *code, size_t max,
			 size_t *ret_len);
/* Why only the interpreter can run @program; NULL: a detour can. */
const char *x86_detour_check(const struct fetch_program *program);

#endif
