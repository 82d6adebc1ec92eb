/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/parse.h"

#include <errno.h>

#include "engine/base/err.h"
#include "engine/spec/env.h"

static void add_caret(const struct spec_parse *p, size_t col)
{
	ubp_err_caret(p->err, p->words->text, p->words->len, (unsigned)col);
}

int spec_fail(const struct spec_parse *p, int code, size_t col, const char *text)
{
	ubp_fail(p->err, code, "%s", text);
	add_caret(p, col);
	return -code;
}

int spec_fail_unlogged(const struct spec_parse *p, int code, size_t col, const char *text)
{
	ubp_fail(p->err, code, "%s", text);
	if (!p->env->strict)
		add_caret(p, col);
	return -code;
}

int spec_fail_memory(const struct spec_parse *p)
{
	return ubp_fail(p->err, ENOMEM, "out of memory");
}

size_t spec_col(const struct spec_parse *p, const char *s)
{
	return (size_t)(s - p->words->text);
}
