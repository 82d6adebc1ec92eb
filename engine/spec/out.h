/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Text put together piece by piece into a buffer that may be too small: as
 * snprintf(), the length is counted on.
 */

#ifndef UBP_SPEC_OUT_H
#define UBP_SPEC_OUT_H

#include <stddef.h>

struct spec_out {
	char *buf; /* always NUL-ended when size > 0 */
	size_t size;
	size_t len; /* of the whole text, even where it did not fit */
};

__attribute__((format(printf, 2, 3))) void spec_out_add(struct spec_out *out, const char *fmt,
							...);

#endif
