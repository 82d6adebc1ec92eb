/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/operand.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arch/arch.h"
#include "arch/operand_priv.h"
#include "engine/base/err.h"
#include "engine/base/num.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Names may have any byte that is no ASCII. */
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '.' || c == '$' || (unsigned char)c >= 0x80;
}

size_t operand_word_len(const char *at)
{
	size_t n = 0;

	while (is_word(at[n]))
		n++;
	return n;
}

int operand_fail(struct ubp_err *err, const char *fmt, ...)
{
	char text[UBP_ERR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return ubp_fail(err, EINVAL, "%s", text);
}

/* ---- sums ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum operand_symbol_kind kind;
} symbol_kinds[] = {
	{ "tpoff", OPERAND_SYMBOL_TLS },
	{ "ntpoff", OPERAND_SYMBOL_TLS },
	{ "gotoff", OPERAND_SYMBOL_GOT },
};

/* @KIND behind a symbol. */
static int parse_symbol_kind(const char **at, struct operand *operand, struct ubp_err *err)
{
	const char *name = *at + 1;
	size_t len = operand_word_len(name);

	for (size_t i = 0; i < sizeof(symbol_kinds) / sizeof(symbol_kinds[0]); i++) {
		if (strlen(symbol_kinds[i].name) != len ||
		    strncasecmp(symbol_kinds[i].name, name, len) != 0)
			continue;
		operand->symbol_kind = symbol_kinds[i].kind;
		*at = name + len;
		return 0;
	}
	return operand_fail(err, "%.*s: the file does not tell what the linker has put there",
			    (int)len + 1, *at);
}

static int parse_symbol(const char **at, bool is_negative, struct operand *operand,
			struct ubp_err *err)
{
	size_t len = operand_word_len(*at);

	if (is_negative || operand->symbol)
		return operand_fail(err, "a difference or sum of symbols is not understood");
	operand->symbol = *at;
	operand->symbol_len = len;
	*at += len;
	return **at == '@' ? parse_symbol_kind(at, operand, err) : 0;
}

static int parse_number(const char **at, bool is_negative, struct operand *operand,
			struct ubp_err *err)
{
	uint64_t value;
	size_t len = num_scan(*at, strlen(*at), &value);

	if (num_u64(*at, len, 0, &value) < 0)
		return operand_fail(err, "a number of more than 64 bits");
	if (is_negative)
		value = -value;
	operand->disp = (int64_t)((uint64_t)operand->disp + value);
	*at += len;
	return 0;
}

int operand_parse_sum(const char **at, struct operand *operand, struct ubp_err *err)
{
	bool is_first = true;

	for (;;) {
		bool is_negative = **at == '-';
		int rc;

		if (is_negative || **at == '+')
			(*at)++;
		else if (!is_first)
			return 0;
		if (is_digit(**at))
			rc = parse_number(at, is_negative, operand, err);
		else if (is_word(**at))
			rc = parse_symbol(at, is_negative, operand, err);
		else
			rc = operand_fail(err, "a number or a symbol is expected");
		if (rc < 0)
			return rc;
		is_first = false;
	}
}

/* ---- SIZE@ ----------------------------------------------------------------------------- */

/* How long a "-4@" or "8f@" is; 0: there is none. */
static size_t prefix_len(const char *at)
{
	size_t n = at[0] == '-';

	if (!is_digit(at[n]))
		return 0;
	while (is_digit(at[n]))
		n++;
	n += at[n] == 'f';
	return at[n] == '@' ? n + 1 : 0;
}

static int parse_prefix(const char **at, struct operand *operand, struct ubp_err *err)
{
	size_t len = prefix_len(*at), digits;
	uint64_t size;

	if (len == 0)
		return 0;
	operand->is_signed = **at == '-';
	*at += operand->is_signed;
	len -= operand->is_signed;
	operand->is_float = (*at)[len - 2] == 'f';
	digits = len - 1 - operand->is_float;
	if (num_u64(*at, digits, 10, &size) < 0 ||
	    (size != 8 && size != 4 && (operand->is_float || (size != 2 && size != 1))))
		return operand_fail(err, "a value of %.*s bytes%s cannot be printed",
				    (int)digits, *at, operand->is_float ? ", floating," : "");
	operand->size = (uint8_t)size;
	*at += len;
	return 0;
}

/* ---- both ------------------------------------------------------------------------------ */

static int parse_place(uint16_t e_machine, const char **at, struct operand *operand,
		       struct ubp_err *err)
{
	const struct ubp_arch *arch = ubp_arch_of_machine(e_machine);

	if (!arch || !arch->operand.parse)
		return ubp_fail(err, ENOTSUP, "operands of machine %u are not understood",
				e_machine);
	return arch->operand.parse(at, operand, err);
}

static void skip_blanks(const char **at)
{
	while (is_blank(**at))
		(*at)++;
}

int operand_parse(uint16_t e_machine, const char **at, struct operand *ret_operand,
		  struct ubp_err *err)
{
	int rc;

	*ret_operand = (struct operand){ .kind = OPERAND_IMM };
	rc = parse_prefix(at, ret_operand, err);
	if (rc == 0)
		rc = parse_place(e_machine, at, ret_operand, err);
	if (rc < 0)
		return rc;
	if (**at && !is_blank(**at))
		return operand_fail(err, "'%c' makes no sense here", **at);
	skip_blanks(at);
	return 0;
}

void operand_skip(uint16_t e_machine, const char **at)
{
	const struct ubp_arch *arch = ubp_arch_of_machine(e_machine);
	bool is_inside = false;

	for (; **at && (is_inside || !is_blank(**at)); (*at)++) {
		if (arch && arch->operand.has_blanks && **at == '[')
			is_inside = true;
		else if (**at == ']')
			is_inside = false;
	}
	skip_blanks(at);
}

const char *operand_dwarf_register(uint16_t e_machine, unsigned number, bool *ret_is_vector)
{
	const struct ubp_arch *arch = ubp_arch_of_machine(e_machine);

	*ret_is_vector = false;
	return arch && arch->operand.dwarf_register
		       ? arch->operand.dwarf_register(number, ret_is_vector)
		       : NULL;
}
