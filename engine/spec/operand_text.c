/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/operand_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/spec/out.h"
#include "engine/spec/sum_text.h"

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

static int put_memory(const struct operand *o, const struct operand_context *context,
		      struct operand_text *ret, struct ubp_err *err)
{
	struct spec_out address = { ret->address, sizeof(ret->address), 0 };
	struct spec_out value = { ret->value, sizeof(ret->value), 0 };
	struct sum sum = { 0 };
	bool fits;
	int rc = make_sum(o, context, &sum, err);

	if (rc < 0)
		return rc;
	spec_out_sum(&address, sum.base, sum.index, sum.scale, sum.disp);
	/* A dereference has 32 bits for its number. */
	fits = sum.disp == (int32_t)sum.disp;
	spec_out_signed(&value, fits ? sum.disp : 0);
	spec_out_add(&value, "(");
	spec_out_sum(&value, sum.base, sum.index, sum.scale, fits ? 0 : sum.disp);
	spec_out_add(&value, ")");
	return value.len < value.size
		       ? 0
		       : ubp_fail(err, ENOTSUP, "a fetch arg for this is too long");
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
