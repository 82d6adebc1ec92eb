/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, and DWARF's numbers of registers: for the table (struct arch_operand). */

#ifndef UBP_ARCH_X86_OPERAND_H
#define UBP_ARCH_X86_OPERAND_H

#include <stdbool.h>

struct operand;
struct ubp_err;

int x86_operand_parse(bool is_64bit, const char **at, struct operand *operand,
		      struct ubp_err *err);
const char *x86_dwarf_register(bool is_64bit, unsigned number, bool *ret_is_vector);

#endif
