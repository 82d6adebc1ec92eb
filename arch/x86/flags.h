/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Flags that code asks for. */

#ifndef UBP_ARCH_X86_FLAGS_H
#define UBP_ARCH_X86_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct displaced_insn;

/* struct arch_insn */
bool x86_ignores_flags(const uint8_t *code, size_t len);

bool x86_may_fault(const struct displaced_insn *insn);

#endif
