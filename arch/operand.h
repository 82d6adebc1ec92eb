/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names of places that files carry: the operands of static probes (USDT notes, in the
 * assembler's syntax of the machine) and the register numbers of DWARF. Pure: text and
 * numbers in, structures out, for every machine on every host.
 */

#ifndef UBP_ARCH_OPERAND_H
#define UBP_ARCH_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ubp_err;

enum operand_kind {
	OPERAND_IMM,    /* .disp */
	OPERAND_REG,    /* .base, of it .reg_bits from bit .reg_shift on */
	OPERAND_MEMORY, /* at [.segment +] [.base +] [.index * .scale +] .disp [+ symbol] */
};

/* What is added where an operand has a symbol. */
enum operand_symbol_kind {
	OPERAND_SYMBOL_ADDRESS,
	OPERAND_SYMBOL_TLS, /* @tpoff: its offset from the thread pointer, which is negative */
	OPERAND_SYMBOL_GOT, /* @GOTOFF: its address less that of the GOT (DT_PLTGOT) */
};

/*
 * Registers are named as fetch args name them (without '%'): "di", "r8", "xmm0",
 * "fs_base". NULL: none. Static storage.
 */
struct operand {
	enum operand_kind kind;
	uint8_t size; /* bytes of the value: 1 2 4 8; or what the operand is wide, if the note
		       * does not say */
	bool is_signed;
	bool is_float; /* "8f@..." */
	const char *base, *index, *segment;
	uint8_t scale;     /* of .index: 1 2 4 8 */
	uint8_t reg_bits;  /* OPERAND_REG: 8 16 32 64 */
	uint8_t reg_shift; /* OPERAND_REG: 8 for %ah */
	int64_t disp;
	const char *symbol; /* its address is added; in the text that was parsed. NULL: none */
	size_t symbol_len;
	enum operand_symbol_kind symbol_kind;
	bool pc_relative; /* symbol or .disp from the end of the instruction (%rip); without a
			   * symbol nobody can tell where that is */
};

/*
 * Parse the operand at *@at, which ends at a blank or at the end of the text (arm64: blanks
 * may stand in brackets), and move *@at behind it and the blanks that follow. @e_machine: EM_X86_64, ...,
 * little-endian or not. Returns 0; -EINVAL: no form that is known, with a text, *@at where it stopped making
 * sense; -ENOTSUP: no table (struct arch_operand) for this machine.
 */
int operand_parse(uint16_t e_machine, const char **at, struct operand *ret_operand,
		  struct ubp_err *err);

/* Move *@at behind an operand that could not be parsed, and the blanks that follow. */
void operand_skip(uint16_t e_machine, const char **at);

/*
 * DWARF register @number by the name that fetch args have, *ret_is_vector: one of those
 * that hold floats. NULL: none such. Static storage.
 */
const char *operand_dwarf_register(uint16_t e_machine, unsigned number, bool *ret_is_vector);

#endif
