/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Looking for instructions in much code. */

#ifndef UBP_BASE_FIND_BYTES_H
#define UBP_BASE_FIND_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * memmem() for what begins with a byte that is rare in code, as an opcode is: for a few bytes glibc's looks at each pair of
 * bytes, and is several times slower. @len: not 0.
 */
static inline const uint8_t *find_bytes(const uint8_t *at, const uint8_t *end,
					const uint8_t *bytes, size_t len)
{
	while ((size_t)(end - at) >= len &&
	       (at = memchr(at, bytes[0], (size_t)(end - at) - len + 1))) {
		if (memcmp(at, bytes, len) == 0)
			return at;
		at++;
	}
	return NULL;
}

#endif
