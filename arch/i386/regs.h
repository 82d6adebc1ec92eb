/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Registers: their numbers, which are places in struct ubp_regs, and their names. */

#ifndef UBP_ARCH_I386_REGS_H
#define UBP_ARCH_I386_REGS_H

#include <stddef.h>

/* arch_reg.by_name: the place in struct ubp_regs of a register that fetch args of the kernel's have, or -1. */
int i386_reg_by_name(const char *name, size_t len);
/* arch_reg.more_by_name: the place of a register that they do not have, or -1. */
int i386_more_reg_by_name(const char *name, size_t len);

#endif
