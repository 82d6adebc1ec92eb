/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Registers: their numbers, which are places in struct ubp_regs, and their names. */

#ifndef UBP_ARCH_I386_REGS_H
#define UBP_ARCH_I386_REGS_H

#include <stddef.h>

/* The register's place in struct ubp_regs, or -1: of those that the kernel's fetch args know ... */
int i386_reg_by_name(const char *name, size_t len);
/* ... and of the others. */
int i386_more_reg_by_name(const char *name, size_t len);

#endif
