/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of the kernel that a guard has to see, in code. */

#ifndef UBP_CODE_HOOK_CALL_H
#define UBP_CODE_HOOK_CALL_H

#include <stddef.h>
#include <stdint.h>

struct ubp_arch;

/*
 * The first of such calls that is at or behind @at, up to @end: a sequence as @call is one, of ubp_arch.hook.calls, and how
 * far behind its start the instruction stands that gives way. NULL: none.
 */
const uint8_t *hook_call_find(const struct ubp_arch *arch, const uint8_t *call,
			      const uint8_t *at, const uint8_t *end, size_t *ret_more);

#endif
