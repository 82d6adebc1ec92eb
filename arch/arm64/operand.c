/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Operands as compilers write them for arm64: REG, CONSTANT, [BASE], [BASE, DISP],
 * [BASE, INDEX, lsl N], [BASE, #:lo12:SYMBOL]. Blanks may stand in the brackets.
 */

#include "arch/arm64/operand.h"

#include <string.h>

#include "arch/operand_priv.h"
#include "engine/base/num.h"

#define N_REGS    31
#define N_VECTORS 32
#define SP        31

static const char *const names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
};

static const char *const vectors[N_VECTORS] = {
	"v0",  "v1",  "v2",  "v3",  "v4",  "v5",  "v6",  "v7",  "v8",  "v9",  "v10",
	"v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
	"v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
};

/* A register, or none that can be named: those that are always zero have no name. */
struct arm64_reg {
	struct operand_reg reg;
	bool is_zero;
};

static bool is_name(const char *name, const char *at, size_t len)
{
	return strlen(name) == len && memcmp(name, at, len) == 0;
}

static const struct {
	const char *name;
	struct arm64_reg reg;
} special[] = {
	{ "sp", { .reg = { .name = "sp", .bits = 64 } } },
	{ "wsp", { .reg = { .name = "sp", .bits = 32 } } },
	{ "xzr", { .reg = { .bits = 64 }, .is_zero = true } },
	{ "wzr", { .reg = { .bits = 32 }, .is_zero = true } },
	{ "fp", { .reg = { .name = "x29", .bits = 64 } } },
	{ "lr", { .reg = { .name = "x30", .bits = 64 } } },
};

/* One letter says what part of the register is meant. */
static bool find_numbered(const char *at, size_t len, struct operand_reg *ret)
{
	static const struct {
		char letter;
		uint8_t bits;
		bool is_vector;
	} parts[] = { { 'x', 64, false }, { 'w', 32, false }, { 'v', 64, true },
		      { 'd', 64, true },  { 's', 32, true },  { 'q', 64, true } };
	uint64_t number;

	/* Not "x007". */
	if (len < 2 || len > 3 || (len == 3 && at[1] == '0') ||
	    num_u64(at + 1, len - 1, 10, &number) < 0)
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].letter != at[0] ||
		    number >= (parts[i].is_vector ? N_VECTORS : N_REGS))
			continue;
		*ret = (struct operand_reg){
			.name = parts[i].is_vector ? vectors[number] : names[number],
			.bits = parts[i].bits,
			.is_vector = parts[i].is_vector,
		};
		return true;
	}
	return false;
}

static int parse_register(const char **at, struct arm64_reg *ret, struct ubp_err *err)
{
	size_t len = operand_word_len(*at);

	*ret = (struct arm64_reg){ .is_zero = false };
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (!is_name(special[i].name, *at, len))
			continue;
		*ret = special[i].reg;
		*at += len;
		return 0;
	}
	if (!find_numbered(*at, len, &ret->reg))
		return operand_fail(err, "no register that can be read: %.*s", (int)len, *at);
	*at += len;
	return 0;
}

static int take_register(const char *start, const char **at, const struct arm64_reg *reg,
			 struct operand *operand, struct ubp_err *err)
{
	if (operand->size == 0)
		operand->size = reg->reg.bits / 8;
	if (reg->is_zero)
		return 0;
	if (reg->reg.is_vector && operand->size < 4) {
		*at = start;
		return operand_fail(err, "a vector register with a value of %u bytes",
				    operand->size);
	}
	operand->kind = OPERAND_REG;
	operand->base = reg->reg.name;
	operand->reg_bits = reg->reg.bits;
	if (reg->reg.is_vector && !operand->is_signed)
		operand->is_float = true;
	return 0;
}

static void skip_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

static int parse_address_register(const char **at, const char **ret_name, struct ubp_err *err)
{
	const char *start = *at;
	struct arm64_reg reg;
	int rc = parse_register(at, &reg, err);

	if (rc < 0)
		return rc;
	if (reg.is_zero || reg.reg.bits != 64 || reg.reg.is_vector) {
		*at = start;
		return operand_fail(err, "not a register for addresses of 64 bits");
	}
	*ret_name = reg.reg.name;
	return 0;
}

/* , lsl N */
static int parse_shift(const char **at, struct operand *operand, struct ubp_err *err)
{
	(*at)++;
	skip_blanks(at);
	if (strncmp(*at, "lsl", 3) != 0)
		return operand_fail(err, "only \"lsl\" is understood here");
	*at += 3;
	skip_blanks(at);
	*at += **at == '#';
	if (**at < '0' || **at > '3')
		return operand_fail(err, "the shift must be 0 to 3");
	operand->scale = (uint8_t)(1 << (**at - '0'));
	(*at)++;
	skip_blanks(at);
	return 0;
}

/* What comes behind the base: an offset, a symbol, or an index. */
static int parse_offset(const char **at, struct operand *operand, struct ubp_err *err)
{
	static const char low[] = ":lo12:";
	bool is_number = **at == '#' || **at == '-' || (**at >= '0' && **at <= '9');
	int rc;

	*at += **at == '#';
	if (strncmp(*at, low, strlen(low)) == 0) {
		/* The base has the page that the symbol is on: together they are its address. */
		*at += strlen(low);
		operand->base = NULL;
		operand->pc_relative = true;
		return operand_parse_sum(at, operand, err);
	}
	if (is_number) {
		const char *start = *at;

		rc = operand_parse_sum(at, operand, err);
		if (rc == 0 && operand->symbol) {
			*at = start;
			return operand_fail(err, "a symbol makes no sense here");
		}
		return rc;
	}
	rc = parse_address_register(at, &operand->index, err);
	if (rc < 0)
		return rc;
	operand->scale = 1;
	skip_blanks(at);
	return **at == ',' ? parse_shift(at, operand, err) : 0;
}

/* [BASE...] */
static int parse_memory(const char **at, struct operand *operand, struct ubp_err *err)
{
	int rc;

	(*at)++;
	skip_blanks(at);
	rc = parse_address_register(at, &operand->base, err);
	if (rc < 0)
		return rc;
	skip_blanks(at);
	if (**at == ',') {
		(*at)++;
		skip_blanks(at);
		rc = parse_offset(at, operand, err);
		if (rc < 0)
			return rc;
		skip_blanks(at);
	}
	if (**at != ']')
		return operand_fail(err, "']' is expected");
	(*at)++;
	operand->kind = OPERAND_MEMORY;
	if (operand->size == 0)
		operand->size = 8;
	return 0;
}

int arm64_operand_parse(const char **at, struct operand *operand, struct ubp_err *err)
{
	const char *start = *at;
	struct arm64_reg reg;
	int rc;

	if (**at == '[')
		return parse_memory(at, operand, err);
	if (**at == '#' || **at == '-' || (**at >= '0' && **at <= '9')) {
		*at += **at == '#';
		if (operand->size == 0)
			operand->size = 8;
		rc = operand_parse_sum(at, operand, err);
		if (rc == 0 && operand->symbol) {
			*at = start;
			return operand_fail(err, "a symbol makes no sense here");
		}
		return rc;
	}
	rc = parse_register(at, &reg, err);
	return rc < 0 ? rc : take_register(start, at, &reg, operand, err);
}

/* ---- DWARF ----------------------------------------------------------------------------- */

#define DWARF_PC 32
#define DWARF_V0 64

const char *arm64_dwarf_register(unsigned number, bool *ret_is_vector)
{
	if (number <= SP)
		return names[number];
	if (number == DWARF_PC)
		return "pc";
	if (number < DWARF_V0 || number >= DWARF_V0 + N_VECTORS)
		return NULL;
	*ret_is_vector = true;
	return vectors[number - DWARF_V0];
}
