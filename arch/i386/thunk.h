/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Code that reads its own return address. */

#ifndef UBP_ARCH_I386_THUNK_H
#define UBP_ARCH_I386_THUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mov (%esp),%reg: how position-independent code learns where it is, by __x86.get_pc_thunk.bx(). */
bool i386_gives_return(const uint8_t *code, size_t len);
/* Why the return address must not be replaced at offset @at; NULL: it may. */
const char *i386_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at);

#endif
