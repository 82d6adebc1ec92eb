/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Operands as compilers write them for POWER: REG, which is a number alone, or with a letter in
 * front as assemblers may want it; iCONSTANT; DISP(BASE); BASE,INDEX. Before sys/sdt.h wrote
 * that i (2019), constants were bare as well: one that is no register's number is one.
 */

#include "arch/ppc64el/operand.h"

#include <string.h>

#include "arch/operand_priv.h"
#include "engine/base/num.h"

#define N_GPRS 32
#define N_FPRS 32

static const char *const gprs[N_GPRS] = {
	"gpr0",  "gpr1",  "gpr2",  "gpr3",  "gpr4",  "gpr5",  "gpr6",  "gpr7",
	"gpr8",  "gpr9",  "gpr10", "gpr11", "gpr12", "gpr13", "gpr14", "gpr15",
	"gpr16", "gpr17", "gpr18", "gpr19", "gpr20", "gpr21", "gpr22", "gpr23",
	"gpr24", "gpr25", "gpr26", "gpr27", "gpr28", "gpr29", "gpr30", "gpr31",
};

static const char *const fprs[N_FPRS] = {
	"f0",  "f1",  "f2",  "f3",  "f4",  "f5",  "f6",  "f7",  "f8",  "f9",  "f10",
	"f11", "f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19", "f20", "f21",
	"f22", "f23", "f24", "f25", "f26", "f27", "f28", "f29", "f30", "f31",
};

/* "9", "r9", "%r9"; "f1", "%f1" if @ret_is_float. False: it is none, and *at stays. */
static bool take_register(const char **at, const char **ret_name, bool *ret_is_float)
{
	const char *name = *at + (**at == '%');
	bool has_letter = *name == 'r' || (*name == 'f' && ret_is_float);
	const char *digits = name + has_letter;
	size_t len = operand_word_len(digits);
	uint64_t number;

	/* Not "r007". */
	if (len < 1 || len > 2 || (len == 2 && digits[0] == '0') ||
	    num_u64(digits, len, 10, &number) < 0 || number >= N_GPRS)
		return false;
	if (ret_is_float)
		*ret_is_float = *name == 'f';
	*ret_name = *name == 'f' ? fprs[number] : gprs[number];
	*at = digits + len;
	return true;
}

/* As a base, 0 is no register but nothing. */
static int take_base(const char **at, const char **ret_name, struct ubp_err *err)
{
	if (!take_register(at, ret_name, NULL))
		return operand_fail(err, "not a register for addresses");
	if (strcmp(*ret_name, gprs[0]) == 0)
		*ret_name = NULL;
	return 0;
}

static int end_memory(struct operand *operand)
{
	operand->kind = OPERAND_MEMORY;
	if (operand->size == 0)
		operand->size = 8;
	return 0;
}

/* (BASE) */
static int parse_base(const char **at, struct operand *operand, struct ubp_err *err)
{
	int rc;

	(*at)++;
	rc = take_base(at, &operand->base, err);
	if (rc < 0)
		return rc;
	if (**at != ')')
		return operand_fail(err, "')' is expected");
	(*at)++;
	return end_memory(operand);
}

static int parse_index(const char **at, const char *base, struct operand *operand,
		       struct ubp_err *err)
{
	(*at)++;
	operand->base = strcmp(base, gprs[0]) == 0 ? NULL : base;
	operand->scale = 1;
	if (!take_register(at, &operand->index, NULL))
		return operand_fail(err, "not a register for addresses");
	return end_memory(operand);
}

static bool is_end(char c)
{
	return c == '\0' || c == ' ' || c == '\t' || c == '\n';
}

int ppc64el_operand_parse(const char **at, struct operand *operand, struct ubp_err *err)
{
	const char *start = *at, *name;
	bool is_float;
	int rc;

	if (**at == 'i' && (at[0][1] == '-' || (at[0][1] >= '0' && at[0][1] <= '9'))) {
		(*at)++;
		if (operand->size == 0)
			operand->size = 8;
		return operand_parse_sum(at, operand, err);
	}
	if (take_register(at, &name, &is_float)) {
		if (**at == ',' && !is_float)
			return parse_index(at, name, operand, err);
		if (is_end(**at)) {
			if (operand->size == 0)
				operand->size = 8;
			if (is_float && operand->size < 4) {
				*at = start;
				return operand_fail(
					err, "a floating register with a value of %u bytes",
					operand->size);
			}
			operand->kind = OPERAND_REG;
			operand->base = name;
			operand->reg_bits = 64;
			if (is_float && !operand->is_signed)
				operand->is_float = true;
			return 0;
		}
		*at = start; /* a displacement */
	}
	if (**at != '(') {
		rc = operand_parse_sum(at, operand, err);
		if (rc == 0 && operand->symbol) {
			*at = start;
			return operand_fail(err, "a symbol makes no sense here");
		}
		if (rc < 0 || **at != '(') {
			if (operand->size == 0)
				operand->size = 8;
			return rc;
		}
	}
	return parse_base(at, operand, err);
}

/* ---- DWARF ----------------------------------------------------------------------------- */

#define DWARF_F0  32
#define DWARF_LR  65
#define DWARF_CTR 66

const char *ppc64el_dwarf_register(unsigned number, bool *ret_is_vector)
{
	if (number < N_GPRS)
		return gprs[number];
	if (number == DWARF_LR)
		return "link";
	if (number == DWARF_CTR)
		return "ctr";
	if (number < DWARF_F0 || number >= DWARF_F0 + N_FPRS)
		return NULL;
	*ret_is_vector = true;
	return fprs[number - DWARF_F0];
}
