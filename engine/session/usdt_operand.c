/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes: where their values stand, in the words of fetch args. */

#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/object.h"
#include "engine/session/usdt.h"
#include "engine/sink/buf.h"

const char *usdt_type_name(const struct operand *operand)
{
	static const char *const of_unsigned[] = { "u8", "u16", "u32", "u64" };
	static const char *const of_signed[] = { "s8", "s16", "s32", "s64" };
	unsigned i = operand->size >= 8 ? 3 : operand->size / 2;

	if (operand->is_float)
		return operand->size == 4 ? "f32" : "f64";
	if (operand->reg_shift)
		return "b8@8/16"; /* %ah */
	return operand->is_signed ? of_signed[i] : of_unsigned[i];
}

__attribute__((format(printf, 2, 3))) static bool out_of_reach(struct sink_buf *text,
							       const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	text->len = 0;
	sink_buf_add_text(text, why);
	return false;
}

/* Where the operand's symbol is, elf_vaddr. */
static bool find_symbol(struct object *object, const struct operand *operand,
			uint64_t *ret_elf_vaddr)
{
	char *name = strndup(operand->symbol, operand->symbol_len);
	bool found = name && object_symbol_value(object, name, ret_elf_vaddr) == 0;

	free(name);
	return found;
}

/*
 * Memory at an address as linked: relative to the place of the probe, which is how fetch args
 * find their way in a program that is loaded anywhere.
 */
static bool at_elf_vaddr(struct object *object, const struct object_note *note,
			 uint64_t elf_vaddr, struct sink_buf *text)
{
	uint64_t foffset;

	if (object_vaddr_to_foffset(object, note->elf_vaddr, &foffset) < 0)
		return out_of_reach(text, "the probe is in no segment of the file");
	sink_buf_printf(text, "@+%" PRId64, (int64_t)(elf_vaddr - note->elf_vaddr + foffset));
	return true;
}

/* %BASE+%INDEX*SCALE */
static void put_registers(const struct operand *operand, struct sink_buf *text)
{
	const char *joint = "";

	if (operand->segment) {
		sink_buf_printf(text, "%%%s", operand->segment);
		joint = "+";
	}
	if (operand->base) {
		sink_buf_printf(text, "%s%%%s", joint, operand->base);
		joint = "+";
	}
	if (operand->index)
		sink_buf_printf(text, "%s%%%s", joint, operand->index);
	if (operand->index && operand->scale > 1)
		sink_buf_printf(text, "*%u", operand->scale);
}

static bool memory_text(struct object *object, const struct object_note *note,
			const struct operand *operand, struct sink_buf *text)
{
	bool is_bare = !operand->base && !operand->index && !operand->segment;
	int64_t disp = operand->disp;
	uint64_t symbol = 0;

	if (operand->symbol && !find_symbol(object, operand, &symbol))
		return out_of_reach(text, "no symbol %.*s%s", (int)operand->symbol_len,
				    operand->symbol,
				    object_has_symtab(object)
					    ? ""
					    : " (stripped: only exported ones have names)");
	if (operand->pc_relative && !operand->symbol)
		return out_of_reach(text, "relative to an instruction that is not known");
	if (operand->symbol && (operand->pc_relative || is_bare))
		return at_elf_vaddr(object, note, symbol + (uint64_t)disp, text);
	if (operand->symbol && object_is_pie(object))
		return out_of_reach(text, "relative to a table that is not known");
	disp += (int64_t)symbol;
	if (is_bare) {
		sink_buf_printf(text, "@0x%" PRIx64, (uint64_t)disp);
		return true;
	}
	if (operand->segment && operand->base && operand->index)
		return out_of_reach(text, "a sum of three registers");
	if (disp < INT32_MIN || disp > INT32_MAX)
		return out_of_reach(text, "too far from its register");
	sink_buf_printf(text, "%+" PRId64 "(", disp);
	put_registers(operand, text);
	sink_buf_add_text(text, ")");
	return true;
}

bool usdt_value_text(struct object *object, const struct object_note *note,
		     const struct operand *operand, struct sink_buf *text)
{
	switch (operand->kind) {
	case OPERAND_IMM:
		if (operand->symbol)
			return out_of_reach(text, "the address of a symbol");
		sink_buf_printf(text, "\\%" PRId64, operand->disp);
		return true;
	case OPERAND_REG:
		if (operand->reg_shift && operand->is_signed)
			return out_of_reach(text, "a signed byte that is not the lowest");
		sink_buf_printf(text, "%%%s", operand->base);
		return true;
	case OPERAND_MEMORY:
		break;
	}
	return memory_text(object, note, operand, text);
}

/* Where the operand that starts at @at ends, by its blanks: for those that make no sense. */
static size_t text_len(const char *at, const char *end)
{
	while (end > at && end[-1] == ' ')
		end--;
	return (size_t)(end - at);
}

/* Remember why one can't be read. */
static void give_reason(struct usdt_operands *all, size_t *used, const char *why)
{
	size_t len = strlen(why) + 1;

	if (len > sizeof(all->reasons) - *used) {
		all->v[all->n].why = "it can't be read";
		return;
	}
	memcpy(all->reasons + *used, why, len);
	all->v[all->n].why = all->reasons + *used;
	*used += len;
}

void usdt_operands(struct object *object, const struct object_note *note,
		   struct usdt_operands *all)
{
	uint16_t machine = object_machine(object);
	const char *at = note->args;
	struct sink_buf text = { 0 };
	size_t used = 0;

	all->n = 0;
	at += strspn(at, " ");
	while (*at && all->n < USDT_ARGS_MAX) {
		struct usdt_operand *o = &all->v[all->n];
		struct ubp_err err;

		*o = (struct usdt_operand){ .text = at };
		ubp_err_reset(&err);
		text.len = 0;
		if (operand_parse(machine, &at, &o->operand, &err) < 0) {
			at = o->text;
			operand_skip(machine, &at);
			give_reason(all, &used, err.text);
		} else if (!usdt_value_text(object, note, &o->operand, &text)) {
			sink_buf_add(&text, "", 1);
			give_reason(all, &used, text.failed ? "no memory" : text.data);
		}
		o->len = text_len(o->text, at);
		all->n++;
	}
	sink_buf_free(&text);
}
