/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For code of 32 bits: tests/unit/x86_bits.h. */

#define RUN_BITS 32
#include "tests/unit/test_x86_detour_stack.c"
