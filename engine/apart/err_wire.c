/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/apart/err_wire.h"

#include <stdio.h>

#include "engine/apart/wire.h"
#include "engine/base/err.h"

/* As a structure it would have bytes that nobody has set, and thousands of them. */
void err_wire_put(struct wire *wire, const struct ubp_err *err)
{
	wire_put(wire, (uint64_t)err->code);
	wire_put(wire, err->line);
	wire_put(wire, err->has_caret);
	wire_put(wire, err->caret);
	wire_put_text(wire, err->text);
	wire_put_text(wire, err->hint);
	wire_put_text(wire, err->has_caret ? err->command : NULL);
}

static void get_text(struct wire *wire, char *to, size_t size)
{
	const char *text = wire_get_text(wire);

	(void)snprintf(to, size, "%s", text ? text : "");
}

void err_wire_get(struct wire *wire, struct ubp_err *ret_err)
{
	ret_err->code = (int)wire_get(wire);
	ret_err->line = (unsigned)wire_get(wire);
	ret_err->has_caret = wire_get(wire) != 0;
	ret_err->caret = (unsigned)wire_get(wire);
	get_text(wire, ret_err->text, sizeof(ret_err->text));
	get_text(wire, ret_err->hint, sizeof(ret_err->hint));
	get_text(wire, ret_err->command, sizeof(ret_err->command));
}
