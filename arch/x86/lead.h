/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What stands in front of a window, and how functions begin. What struct ubp_arch
 * (arch/arch.h) has a member for is described there.
 */

#ifndef UBP_ARCH_X86_LEAD_H
#define UBP_ARCH_X86_LEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* As x86_find_lead(), of code for @bits bits. */
bool x86_lead(unsigned bits, const uint8_t *code, size_t len, struct lead *ret_lead);
/* As x86_lead_stands(), of code for @bits bits. */
bool x86_lead_stands_in(unsigned bits, const struct lead *lead, const uint8_t *now);
/* Does a function that begins so take its return address off the stack? */
bool x86_takes_return(const uint8_t *code, size_t len);
/* What the first instruction of @code does, if that can be told. */
bool x86_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead);
/* Is @now what the file has, or as good? */
bool x86_lead_stands(const struct lead *lead, const uint8_t *now);

#endif
