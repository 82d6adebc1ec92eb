/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Floating-point numbers as text. */

#ifndef UBP_SINK_FLOAT_H
#define UBP_SINK_FLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most characters that sink_put_float() writes. */
#define SINK_FLOAT_MAX 32

/* Is there a number for it, no "inf", no "nan(...)"? */
bool sink_is_finite(uint64_t bits, size_t size);

/*
 * The f32 or f64 (@size is 4 or 8) whose bits are @bits, as gdb prints it: digits enough to
 * read it back (9, 17), without zeros at the end; inf, -inf, -nan(0x8000000000000). What is
 * finite is a number of JSON, too. Returns the address behind.
 */
char *sink_put_float(char *to, uint64_t bits, size_t size);

#endif
