/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the parsers of operands (struct arch_operand), one of each machine, share. Each moves *@at
 * over what it has taken, and leaves it where the text stopped making sense.
 */

#ifndef UBP_ARCH_OPERAND_PRIV_H
#define UBP_ARCH_OPERAND_PRIV_H

#include "arch/operand.h"

/* How a register is called in notes, and what it is a part of. */
struct operand_reg {
	const char *name; /* fetch args' (arch/operand.h) */
	uint8_t bits, shift;
	bool is_vector, is_segment;
};

/* Letters and digits, and what assemblers count among them, at @at. */
size_t operand_word_len(const char *at);

/* -EINVAL with text. */
__attribute__((format(printf, 2, 3))) int operand_fail(struct ubp_err *err, const char *fmt,
						       ...);

/*
 * A sum of numbers and at most one symbol, each with a sign before it: "16", "-8+16",
 * "sym+4", "8+sym@tpoff". Added to .disp, .symbol.
 */
int operand_parse_sum(const char **at, struct operand *operand, struct ubp_err *err);

#endif
