/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/out.h"

#include <stdarg.h>
#include <stdio.h>

void spec_out_add(struct spec_out *out, const char *fmt, ...)
{
	size_t at = out->len < out->size ? out->len : out->size;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at < out->size ? out->buf + at : NULL, out->size - at, fmt, ap);
	va_end(ap);
	if (n > 0)
		out->len += (size_t)n;
}
