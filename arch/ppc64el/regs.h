/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Registers: their numbers, which are places in struct ubp_regs, and their names. */

#ifndef UBP_ARCH_PPC64EL_REGS_H
#define UBP_ARCH_PPC64EL_REGS_H

#include <stddef.h>

/* Order of struct pt_regs, which other hosts don't have. */
enum ppc64el_reg_index {
	PPC64EL_R0,
	PPC64EL_R1 = 1, /* the stack pointer */
	PPC64EL_R3 = 3,
	PPC64EL_R13 = 13, /* by which a thread's own memory is found */
	PPC64EL_R31 = 31, /* the frame pointer, where there is one */
	PPC64EL_NIP,
	PPC64EL_MSR,
	PPC64EL_ORIG_R3,
	PPC64EL_CTR,
	PPC64EL_LR,
	PPC64EL_XER,
	PPC64EL_CCR,
	PPC64EL_SOFTE,
	PPC64EL_TRAP,
	PPC64EL_DAR,
	PPC64EL_DSISR,
	PPC64EL_RESULT,
	PPC64EL_N_REGS,
};

/* arch_reg.by_name: the place in struct ubp_regs of a register that fetch args of the kernel's have, or -1. */
int ppc64el_reg_by_name(const char *name, size_t len);
const char *ppc64el_reg_name(size_t i);
/* arch_reg.more_by_name: the place of a register that they do not have, or -1. */
int ppc64el_more_reg_by_name(const char *name, size_t len);

#endif
