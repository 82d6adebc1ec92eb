/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of the kernel that may set a filter for such calls, and how a detour in front of them tells that they do. */

#ifndef UBP_ARCH_X86_CALL_KIND_H
#define UBP_ARCH_X86_CALL_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define X86_NR_PRCTL   157
#define X86_NR_SECCOMP 317

/* Of the instruction in front of UBP_CALL_PRCTL: as long as a jump. */
#define X86_CALL_FRONT 5

/* struct ubp_arch, .call.kind */
enum ubp_call_kind x86_call_kind(const uint8_t *call, size_t before, size_t *ret_back);

#endif
