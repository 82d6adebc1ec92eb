/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Who may jump where, and what is between functions. What struct ubp_arch (arch/arch.h) has a
 * member for is described there.
 */

#ifndef UBP_ARCH_PPC64EL_REFS_H
#define UBP_ARCH_PPC64EL_REFS_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* All that may be a reference in @code. */
void ppc64el_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		       void (*each)(void *ctx, uint64_t at, uint64_t target,
				    enum code_ref kind),
		       void *ctx);
/* Bytes of it that are fill: nops, breakpoints, zeros. */
size_t ppc64el_fill_len(const uint8_t *code, size_t len);
/* Bytes of the check of the stack that Go's functions begin with; 0: none. */
size_t ppc64el_go_check_len(const uint8_t *code, size_t len);

#endif
