/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, and DWARF's numbers of registers: for the table (struct arch_operand). */

#ifndef UBP_ARCH_PPC64EL_OPERAND_H
#define UBP_ARCH_PPC64EL_OPERAND_H

#include <stdbool.h>

struct operand;
struct ubp_err;

int ppc64el_operand_parse(const char **at, struct operand *operand, struct ubp_err *err);
const char *ppc64el_dwarf_register(unsigned number, bool *ret_is_vector);

#endif
