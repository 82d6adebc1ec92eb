/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names of registers, as the kernel's uprobe_events has them, and those of the extended
 * grammar.
 */

#include "arch/i386/regs.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/x86/regs.h"

/*
 * The kernel's names for a 32-bit program on a 64-bit kernel are those of 64-bit ones: r8 to r15
 * are accepted, too, and read what the kernel keeps there, which is 0.
 */
int i386_reg_by_name(const char *name, size_t len)
{
	return x86_reg_by_name(name, len);
}

int i386_more_reg_by_name(const char *name, size_t len)
{
	int reg = x86_more_reg_by_name(name, len);

	/* The upper eight vector registers are 64-bit programs'. */
	return reg >= UBP_REG_VECTOR + 8 ? -1 : reg;
}
