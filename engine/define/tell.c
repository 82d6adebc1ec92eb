/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/tell.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/define/state.h"

#define WARNING_MAX 1024

void definitions_warn(const struct definitions *defs, const char *fmt, ...)
{
	char text[WARNING_MAX];
	va_list ap;

	if (!defs->opt.warn)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	defs->opt.warn(defs->opt.warn_ctx, text);
}
