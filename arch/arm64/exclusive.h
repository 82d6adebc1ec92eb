/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where there may be a breakpoint. */

#ifndef UBP_ARCH_ARM64_EXCLUSIVE_H
#define UBP_ARCH_ARM64_EXCLUSIVE_H

#include <stddef.h>
#include <stdint.h>

/* Why there may be no breakpoint at offset @at; NULL: there may. */
const char *arm64_refuse_at(const uint8_t *code, size_t len, size_t at);

#endif
