/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/out.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void spec_out_add(struct spec_out *out, const char *fmt, ...)
{
	bool fits = out->len < out->size;
	char *to = fits ? out->buf + out->len : NULL;
	size_t room = fits ? out->size - out->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	/* clang-tidy 14 loses sight of va_start() when given several files at once. */
	n = vsnprintf(to, room, fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(ap);
	if (n > 0)
		out->len += (size_t)n;
}
