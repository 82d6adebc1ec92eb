/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers with a unit, as users write them: 50ms, 1.5KiB. Texts are not NUL-ended. */

#ifndef UBP_BASE_UNITS_H
#define UBP_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All @len bytes are digits: 0x, octal or decimal. False: they are not, or do not fit 64 bits. */
bool units_digits(const char *text, size_t len, uint64_t *ret_value);

/*
 * A decimal number, perhaps with a fraction, and a unit right behind it (50ms, 1.5s, 4KiB): nanoseconds, or bytes; with a '-' only if
 * @is_signed. False: it is none, out of range, or not a whole number of these.
 */
bool units_number(const char *text, size_t len, bool is_signed, uint64_t *ret_value);

/* Bytes: 4194304, 4MiB, 4.2MB, and 4M for 4MiB. A part of a byte is cut off. False: it is no such size, or does not fit 64 bits. */
bool units_size(const char *text, size_t len, uint64_t *ret_size);

#endif
