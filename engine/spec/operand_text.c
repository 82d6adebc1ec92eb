/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/operand_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/base/err.h"

/* At most two registers, of which the second may be scaled, and a number. */
struct sum {
	const char *base, *index;
	unsigned scale;
	int64_t disp;
};

static const char *type_of(const struct operand *o)
{
	static const char *const integers[][2] = {
		{ "u8", "s8" }, { "u16", "s16" }, { "u32", "s32" }, { "u64", "s64" }
	};

	if (o->kind == OPERAND_REG && o->reg_shift)
		return o->is_signed ? "sb8@8/16" : "b8@8/16";
	if (o->is_float)
		return o->size == 8 ? "f64" : "f32";
	return integers[__builtin_ctz(o->size)][o->is_signed];
}

/* A number with its sign, which no '-' of its own can have twice. */
static void put_signed(char *text, size_t max, int64_t n)
{
	snprintf(text, max, "%c%" PRIu64, n < 0 ? '-' : '+',
		 n < 0 ? -(uint64_t)n : (uint64_t)n);
}

/* An address that moves with the object, told by its distance from the probe. */
static void put_place(uint64_t elf_vaddr, const struct operand_context *context, char *text,
		      size_t max)
{
	int64_t offset = (int64_t)(context->probe_foffset + elf_vaddr - context->probe_vaddr);

	if (offset < 0)
		snprintf(text, max, "@+%" PRId64, offset);
	else
		snprintf(text, max, "@+0x%" PRIx64, (uint64_t)offset);
}

static int add_register(struct sum *sum, const char *name, unsigned scale, struct ubp_err *err)
{
	if (!name)
		return 0;
	if (!sum->base && scale == 1) {
		sum->base = name;
	} else if (!sum->index) {
		sum->index = name;
		sum->scale = scale;
	} else {
		return ubp_fail(err, ENOTSUP, "an address of three registers");
	}
	return 0;
}

static int fail_unknown_pc(struct ubp_err *err)
{
	return ubp_fail(err, ENOTSUP,
			"a distance from an instruction that the note does not tell");
}

/* Does the address come from registers, the symbol just adding a number to it? */
static bool is_relative(const struct operand *o)
{
	return o->segment || o->base || o->index;
}

static int make_sum(const struct operand *o, const struct operand_context *context,
		    struct sum *ret, struct ubp_err *err)
{
	int rc;

	if (o->pc_relative && !o->symbol)
		return fail_unknown_pc(err);
	*ret = (struct sum){ .disp = o->disp };
	if (o->symbol) {
		if (o->symbol_kind == OPERAND_SYMBOL_ADDRESS && !context->is_fixed)
			return ubp_fail(err, ENOTSUP,
					"an address of a symbol and registers, in a file that "
					"may be loaded anywhere");
		ret->disp = (int64_t)((uint64_t)ret->disp + context->symbol);
	}
	rc = add_register(ret, o->segment, 1, err);
	if (rc == 0)
		rc = add_register(ret, o->base, 1, err);
	if (rc == 0)
		rc = add_register(ret, o->index, o->scale, err);
	return rc;
}

/* Such as "%di", "%di+%si*4-8": what the registers and the number are together. */
static void put_sum(const struct sum *sum, int64_t disp, char *text, size_t max)
{
	char number[24] = "", index[32] = "";

	if (disp)
		put_signed(number, sizeof(number), disp);
	if (sum->index)
		snprintf(index, sizeof(index), "%s%%%s", sum->base ? "+" : "", sum->index);
	/* The scale also tells an index that stands alone from a plain register. */
	if (sum->index && (sum->scale != 1 || !sum->base))
		snprintf(index + strlen(index), sizeof(index) - strlen(index), "*%u",
			 sum->scale);
	snprintf(text, max, "%s%s%s%s", sum->base ? "%" : "", sum->base ? sum->base : "", index,
		 number);
}

static int put_memory(const struct operand *o, const struct operand_context *context,
		      struct operand_text *ret, struct ubp_err *err)
{
	char inner[SPEC_ARG_TEXT_MAX + 1], number[24];
	struct sum sum;
	int rc = make_sum(o, context, &sum, err);

	if (rc < 0)
		return rc;
	put_sum(&sum, sum.disp, ret->address, sizeof(ret->address));
	/* A dereference has 32 bits for its number. */
	if (sum.disp == (int32_t)sum.disp) {
		put_sum(&sum, 0, inner, sizeof(inner));
		put_signed(number, sizeof(number), sum.disp);
	} else {
		put_sum(&sum, sum.disp, inner, sizeof(inner));
		put_signed(number, sizeof(number), 0);
	}
	if ((size_t)snprintf(ret->value, sizeof(ret->value), "%s(%s)", number, inner) >=
	    sizeof(ret->value))
		return ubp_fail(err, ENOTSUP, "a fetch arg for this is too long");
	return 0;
}

/* Without registers: a symbol, or a number. */
static int put_absolute(const struct operand *o, const struct operand_context *context,
			struct operand_text *ret, struct ubp_err *err)
{
	uint64_t elf_vaddr = (uint64_t)o->disp;

	if (!o->symbol && o->pc_relative)
		return fail_unknown_pc(err);
	if (o->symbol && o->symbol_kind != OPERAND_SYMBOL_ADDRESS)
		return ubp_fail(err, ENOTSUP, "an offset without what it counts from");
	if (o->symbol)
		put_place(elf_vaddr + context->symbol, context, ret->value, sizeof(ret->value));
	else
		snprintf(ret->value, sizeof(ret->value), "@0x%" PRIx64, elf_vaddr);
	return 0;
}

static int put_constant(const struct operand *o, const struct operand_context *context,
			struct operand_text *ret, struct ubp_err *err)
{
	int64_t value = o->disp;

	if (o->symbol) {
		if (o->symbol_kind == OPERAND_SYMBOL_ADDRESS && !context->is_fixed)
			return ubp_fail(err, ENOTSUP,
					"the address of a symbol, in a file that may be loaded "
					"anywhere");
		value = (int64_t)((uint64_t)value + context->symbol);
	}
	snprintf(ret->value, sizeof(ret->value), "\\%" PRId64, value);
	return 0;
}

int operand_fetch_text(const struct operand *operand, const struct operand_context *context,
		       struct operand_text *ret, struct ubp_err *err)
{
	*ret = (struct operand_text){ .type = type_of(operand) };
	switch (operand->kind) {
	case OPERAND_IMM:
		return put_constant(operand, context, ret, err);
	case OPERAND_REG:
		snprintf(ret->value, sizeof(ret->value), "%%%s", operand->base);
		return 0;
	case OPERAND_MEMORY:
		break;
	}
	if (is_relative(operand))
		return put_memory(operand, context, ret, err);
	return put_absolute(operand, context, ret, err);
}
