/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours of both widths: the user's stack. */

#ifndef UBP_ARCH_X86_COMMON_DETOUR_STACK_H
#define UBP_ARCH_X86_COMMON_DETOUR_STACK_H

#include "arch/x86/common_gen.h"

extern const struct gen_stacks x86_stacks;

#endif
