/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What stands in front of a window, and how functions begin. What struct ubp_arch
 * (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_ARM64_LEAD_H
#define UBP_ARCH_ARM64_LEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* What the first instruction of @code does, if that can be told. */
bool arm64_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead);
/* Is @now what the file has, or as good? */
bool arm64_lead_stands(const struct lead *lead, const uint8_t *now);

#endif
