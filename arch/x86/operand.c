/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Operands as gas has them in AT&T syntax: %REG, $CONSTANT,
 * [%SEG:][DISP][(BASE,INDEX,SCALE)]. i386 has the same forms with fewer registers.
 */

#include "arch/x86/operand.h"

#include <stdio.h>
#include <string.h>

#include "arch/operand_priv.h"

/* ---- registers ------------------------------------------------------------------------- */

/* In DWARF's order for x86-64, which is nobody else's. */
static const struct {
	const char *name, *r64, *r32, *r16, *r8;
} general[] = {
	{ "ax", "rax", "eax", "ax", "al" },       { "dx", "rdx", "edx", "dx", "dl" },
	{ "cx", "rcx", "ecx", "cx", "cl" },       { "bx", "rbx", "ebx", "bx", "bl" },
	{ "si", "rsi", "esi", "si", "sil" },      { "di", "rdi", "edi", "di", "dil" },
	{ "bp", "rbp", "ebp", "bp", "bpl" },      { "sp", "rsp", "esp", "sp", "spl" },
	{ "r8", "r8", "r8d", "r8w", "r8b" },      { "r9", "r9", "r9d", "r9w", "r9b" },
	{ "r10", "r10", "r10d", "r10w", "r10b" }, { "r11", "r11", "r11d", "r11w", "r11b" },
	{ "r12", "r12", "r12d", "r12w", "r12b" }, { "r13", "r13", "r13d", "r13w", "r13b" },
	{ "r14", "r14", "r14d", "r14w", "r14b" }, { "r15", "r15", "r15d", "r15w", "r15b" },
};

#define N_GENERAL     (sizeof(general) / sizeof(general[0]))
#define N_GENERAL_386 8
#define N_LOW_386     4 /* of them with a part of 8 bits */

static const char *const vectors[] = {
	"xmm0", "xmm1", "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",
	"xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
};

#define N_VECTORS     (sizeof(vectors) / sizeof(vectors[0]))
#define N_VECTORS_386 8

static bool is_name(const char *name, const char *at, size_t len)
{
	return strlen(name) == len && memcmp(name, at, len) == 0;
}

static bool find_general(bool is_64bit, const char *at, size_t len, struct operand_reg *ret)
{
	size_t n = is_64bit ? N_GENERAL : N_GENERAL_386;

	for (size_t i = 0; i < n; i++) {
		*ret = (struct operand_reg){ .name = general[i].name };
		if (is_64bit && is_name(general[i].r64, at, len))
			ret->bits = 64;
		else if (is_name(general[i].r32, at, len))
			ret->bits = 32;
		else if (is_name(general[i].r16, at, len))
			ret->bits = 16;
		else if ((is_64bit || i < N_LOW_386) && is_name(general[i].r8, at, len))
			ret->bits = 8;
		if (ret->bits)
			return true;
	}
	return false;
}

/* %ah and its like. */
static bool find_high(const char *at, size_t len, struct operand_reg *ret)
{
	if (len != 2 || at[1] != 'h')
		return false;
	for (size_t i = 0; i < N_LOW_386; i++) {
		*ret = (struct operand_reg){ .name = general[i].name, .bits = 8, .shift = 8 };
		if (general[i].name[0] == at[0])
			return true;
	}
	return false;
}

static bool find_vector(bool is_64bit, const char *at, size_t len, struct operand_reg *ret)
{
	size_t n = is_64bit ? N_VECTORS : N_VECTORS_386;

	for (size_t i = 0; i < n; i++) {
		*ret = (struct operand_reg){ .name = vectors[i],
					     .bits = 64,
					     .is_vector = true };
		if (is_name(vectors[i], at, len))
			return true;
	}
	return false;
}

/* Those of data are flat everywhere: they have no name. */
static bool find_segment(const char *at, size_t len, struct operand_reg *ret)
{
	*ret = (struct operand_reg){ .is_segment = true };
	if (len != 2 || at[1] != 's' || !strchr("fgdesc", at[0]))
		return false;
	if (at[0] == 'f')
		ret->name = "fs_base";
	else if (at[0] == 'g')
		ret->name = "gs_base";
	return true;
}

static bool find_register(bool is_64bit, const char *at, size_t len, struct operand_reg *ret)
{
	if (find_general(is_64bit, at, len, ret) || find_high(at, len, ret) ||
	    find_vector(is_64bit, at, len, ret) || find_segment(at, len, ret))
		return true;
	*ret = (struct operand_reg){ .name = "ip", .bits = is_64bit ? 64 : 32 };
	return is_name(is_64bit ? "rip" : "eip", at, len);
}

/* %NAME */
static int parse_register(bool is_64bit, const char **at, struct operand_reg *ret,
			  struct ubp_err *err)
{
	size_t len;

	if (**at != '%')
		return operand_fail(err, "a register is expected");
	len = operand_word_len(*at + 1);
	if (!find_register(is_64bit, *at + 1, len, ret)) {
		if (is_name("st", *at + 1, len))
			return operand_fail(err,
					    "registers of the x87 unit cannot be read: %%st");
		return operand_fail(err, "no register that can be read: %%%.*s", (int)len,
				    *at + 1);
	}
	*at += len + 1;
	return 0;
}

/* ---- operands -------------------------------------------------------------------------- */

static int take_register(bool is_64bit, const char *start, const char **at,
			 const struct operand_reg *reg, struct operand *operand,
			 struct ubp_err *err)
{
	if (operand->size == 0)
		operand->size = reg->bits / 8;
	if (reg->shift && operand->size != 1) {
		*at = start;
		return operand_fail(err, "this register has 1 byte, not %u", operand->size);
	}
	if (!is_64bit && operand->size == 8 && !reg->is_vector) {
		*at = start;
		return operand_fail(err, "8 bytes are in two registers, and only one is told");
	}
	if (reg->is_vector && operand->size < 4) {
		*at = start;
		return operand_fail(err, "a vector register with a value of %u bytes",
				    operand->size);
	}
	operand->kind = OPERAND_REG;
	operand->base = reg->name;
	operand->reg_bits = reg->bits;
	operand->reg_shift = reg->shift;
	/* Old notes do not tell floats from others, but nothing else is kept there. */
	if (reg->is_vector && !operand->is_signed)
		operand->is_float = true;
	return 0;
}

/* One of the registers in brackets. */
static int parse_address_register(bool is_64bit, const char **at, const char **ret_name,
				  struct ubp_err *err)
{
	const char *start = *at;
	struct operand_reg reg = { .name = NULL };
	int rc = parse_register(is_64bit, at, &reg, err);

	if (rc < 0)
		return rc;
	if (reg.bits != (is_64bit ? 64 : 32) || reg.is_vector) {
		*at = start;
		return operand_fail(err, "not a register for addresses of %u bits",
				    is_64bit ? 64 : 32);
	}
	*ret_name = reg.name;
	return 0;
}

/* ,INDEX[,SCALE] */
static int parse_index(bool is_64bit, const char **at, struct operand *operand,
		       struct ubp_err *err)
{
	const char *start;
	int rc;

	(*at)++;
	start = *at;
	rc = parse_address_register(is_64bit, at, &operand->index, err);
	if (rc < 0)
		return rc;
	if (operand->pc_relative || strcmp(operand->index, "sp") == 0 ||
	    strcmp(operand->index, "ip") == 0) {
		*at = start;
		return operand_fail(err, "this register can be no index");
	}
	operand->scale = 1;
	if (**at != ',')
		return 0;
	(*at)++;
	if (!**at || !strchr("1248", **at))
		return operand_fail(err, "the scale must be 1, 2, 4 or 8");
	operand->scale = (uint8_t)(**at - '0');
	(*at)++;
	return 0;
}

/* (BASE), (BASE,INDEX), (BASE,INDEX,SCALE), (,INDEX,SCALE) */
static int parse_brackets(bool is_64bit, const char **at, struct operand *operand,
			  struct ubp_err *err)
{
	int rc = 0;

	(*at)++;
	if (**at != ',')
		rc = parse_address_register(is_64bit, at, &operand->base, err);
	if (rc < 0)
		return rc;
	if (operand->base && strcmp(operand->base, "ip") == 0) {
		operand->pc_relative = true;
		operand->base = NULL;
	}
	if (**at == ',')
		rc = parse_index(is_64bit, at, operand, err);
	if (rc < 0)
		return rc;
	if (**at != ')')
		return operand_fail(err, "')' is expected");
	(*at)++;
	return 0;
}

/* What the Intel syntax would have here is a name of a size or a register. */
static bool is_intel(bool is_64bit, const char *at)
{
	size_t len = operand_word_len(at);
	struct operand_reg reg;

	if (*at == '[' || strncmp(at + len, " PTR ", 5) == 0)
		return true;
	return find_register(is_64bit, at, len, &reg) && (!at[len] || at[len] == ' ');
}

static int parse_memory(bool is_64bit, const char **at, struct operand *operand,
			struct ubp_err *err)
{
	int rc = 0;

	if (is_intel(is_64bit, *at))
		return operand_fail(err, "an operand in Intel syntax is not understood");
	operand->kind = OPERAND_MEMORY;
	if (operand->size == 0)
		operand->size = is_64bit ? 8 : 4;
	if (**at != '(')
		rc = operand_parse_sum(at, operand, err);
	if (rc == 0 && **at == '(')
		rc = parse_brackets(is_64bit, at, operand, err);
	return rc;
}

int x86_operand_parse(bool is_64bit, const char **at, struct operand *operand,
		      struct ubp_err *err)
{
	const char *start = *at;
	struct operand_reg reg;
	int rc;

	if (**at == '$') {
		(*at)++;
		if (operand->size == 0)
			operand->size = is_64bit ? 8 : 4;
		return operand_parse_sum(at, operand, err);
	}
	if (**at != '%')
		return parse_memory(is_64bit, at, operand, err);
	rc = parse_register(is_64bit, at, &reg, err);
	if (rc < 0)
		return rc;
	if (!reg.is_segment)
		return take_register(is_64bit, start, at, &reg, operand, err);
	if (**at != ':')
		return operand_fail(err, "':' is expected behind a segment");
	(*at)++;
	operand->segment = reg.name;
	return parse_memory(is_64bit, at, operand, err);
}

/* ---- DWARF ----------------------------------------------------------------------------- */

#define DWARF_IP        16
#define DWARF_XMM0      17
#define DWARF_FLAGS     49
#define DWARF_CS        51
#define DWARF_SS        52
#define DWARF_FS_BASE   58
#define DWARF_GS_BASE   59
#define DWARF_386_IP    8
#define DWARF_386_FLAGS 9
#define DWARF_386_XMM0  21
#define DWARF_386_CS    41
#define DWARF_386_SS    42

static const char *dwarf_register_386(unsigned number, bool *ret_is_vector)
{
	static const char *const names[N_GENERAL_386] = { "ax", "cx", "dx", "bx",
							  "sp", "bp", "si", "di" };

	if (number < N_GENERAL_386)
		return names[number];
	if (number >= DWARF_386_XMM0 && number < DWARF_386_XMM0 + N_VECTORS_386) {
		*ret_is_vector = true;
		return vectors[number - DWARF_386_XMM0];
	}
	switch (number) {
	case DWARF_386_IP:
		return "ip";
	case DWARF_386_FLAGS:
		return "flags";
	case DWARF_386_CS:
		return "cs";
	case DWARF_386_SS:
		return "ss";
	default:
		return NULL;
	}
}

const char *x86_dwarf_register(bool is_64bit, unsigned number, bool *ret_is_vector)
{
	if (!is_64bit)
		return dwarf_register_386(number, ret_is_vector);
	if (number < N_GENERAL)
		return general[number].name;
	if (number >= DWARF_XMM0 && number < DWARF_XMM0 + N_VECTORS) {
		*ret_is_vector = true;
		return vectors[number - DWARF_XMM0];
	}
	switch (number) {
	case DWARF_IP:
		return "ip";
	case DWARF_FLAGS:
		return "flags";
	case DWARF_CS:
		return "cs";
	case DWARF_SS:
		return "ss";
	case DWARF_FS_BASE:
		return "fs_base";
	case DWARF_GS_BASE:
		return "gs_base";
	default:
		return NULL;
	}
}
