/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where return addresses may be replaced. */

#ifndef UBP_ARCH_ARM64_SIGN_H
#define UBP_ARCH_ARM64_SIGN_H

#include <stddef.h>
#include <stdint.h>

/* Why the return address must not be replaced at offset @at; NULL: it may. */
const char *arm64_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at);

#endif
