/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Places that can't be probed for what stands around them. */

#ifndef UBP_CODE_REFUSALS_H
#define UBP_CODE_REFUSALS_H

#include <stdint.h>

struct object;

/*
 * Why neither a breakpoint nor a jump may stand at @foffset, for what its function does
 * around it (arch->insn.refuse_at()): words that stay; NULL: nothing speaks against it.
 */
const char *object_refuse_at(struct object *object, uint64_t foffset);

/* Why a return address cannot be replaced at @foffset (arch->insn.refuse_return_at()); NULL: nothing speaks against it. */
const char *object_refuse_return_at(struct object *object, uint64_t foffset);

#endif
