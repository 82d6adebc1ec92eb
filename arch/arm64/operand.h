/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, and DWARF's numbers of registers: for the table (struct arch_operand). */

#ifndef UBP_ARCH_ARM64_OPERAND_H
#define UBP_ARCH_ARM64_OPERAND_H

#include <stdbool.h>

struct operand;
struct ubp_err;

int arm64_operand_parse(const char **at, struct operand *operand, struct ubp_err *err);
const char *arm64_dwarf_register(unsigned number, bool *ret_is_vector);

#endif
