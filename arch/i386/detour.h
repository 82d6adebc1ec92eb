/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours (arch/detour.h). What struct ubp_arch (arch/arch.h) has a member for is described
 * there.
 */

#ifndef UBP_ARCH_I386_DETOUR_H
#define UBP_ARCH_I386_DETOUR_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* The detour for a site. */
int i386_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		      struct ubp_err *err);
/* What detours replace return addresses by. */
int i386_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			   uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err);
/* How threads claim rings. */
int i386_build_claim_code(int32_t self_at, unsigned has, uint8_t *code, size_t max,
			  size_t *ret_len);
/* Why only the interpreter can run @program; NULL: a detour can. */
const char *i386_detour_check(const struct fetch_program *program);

#endif
