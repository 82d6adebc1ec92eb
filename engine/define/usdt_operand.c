/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes: where their values stand, in the words of fetch args. */

#include <string.h>

#include "engine/base/err.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/operand_symbol.h"

/* Remember why one can't be read. */
static void give_reason(struct usdt_operands *all, size_t *used, const char *why)
{
	size_t len = strlen(why) + 1;

	if (len > sizeof(all->reasons) - *used) {
		all->v[all->n].why = "it cannot be read";
		return;
	}
	memcpy(all->reasons + *used, why, len);
	all->v[all->n].why = all->reasons + *used;
	*used += len;
}

/* Of its text in the note, without the blanks behind it. */
static size_t text_len(const char *at, const char *end)
{
	while (end > at && end[-1] == ' ')
		end--;
	return (size_t)(end - at);
}

static int read_operand(struct object *object, const struct operand_context *place,
			const char **at, struct usdt_operand *o, struct ubp_err *err)
{
	uint16_t machine = object_machine(object);
	struct operand_context context = *place;
	int rc = operand_parse(machine, at, &o->operand, err);

	if (rc < 0) {
		*at = o->text;
		operand_skip(machine, at);
		return rc;
	}
	if (o->operand.symbol)
		rc = object_operand_symbol(object, &o->operand, place->probe_vaddr,
					   &context.symbol, err);
	return rc < 0 ? rc : operand_fetch_text(&o->operand, &context, &o->fetch, err);
}

void usdt_operands(struct object *object, const struct object_note *note,
		   struct usdt_operands *all)
{
	struct operand_context context = {
		.probe_vaddr = note->elf_vaddr,
		.is_fixed = !object_is_pie(object),
	};
	const char *at = note->args + strspn(note->args, " ");
	size_t used = 0;
	struct ubp_err err;

	all->n = 0;
	/* A probe that is nowhere is not traced. */
	(void)object_vaddr_to_foffset(object, note->elf_vaddr, &context.probe_foffset);
	while (*at && all->n < USDT_ARGS_MAX) {
		struct usdt_operand *o = &all->v[all->n];

		memset(o, 0, sizeof(*o));
		o->text = at;
		ubp_err_reset(&err);
		if (read_operand(object, &context, &at, o, &err) < 0)
			give_reason(all, &used, err.text);
		o->len = text_len(o->text, at);
		all->n++;
	}
}
