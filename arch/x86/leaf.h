/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Copies of functions (arch/leaf.h). What struct ubp_arch (arch/arch.h) has a member for is described there. */

#ifndef UBP_ARCH_X86_LEAF_H
#define UBP_ARCH_X86_LEAF_H

#include <stddef.h>
#include <stdint.h>

struct leaf;
struct leaf_at;
struct leaf_copy;
struct ubp_err;

/* What of the function at @code can be copied. */
int x86_find_leaf(const uint8_t *code, size_t len, uint64_t vaddr, struct leaf **ret_leaf,
		  struct ubp_err *err);
/* A copy of it, from the window on. */
int x86_build_leaf(const struct leaf *leaf, const struct leaf_at *at,
		   struct leaf_copy *ret_copy, struct ubp_err *err);

#endif
