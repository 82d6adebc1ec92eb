/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names of registers, as the kernel's uprobe_events has them, and those of the extended
 * grammar.
 */

#include "arch/ppc64el/regs.h"

#include <string.h>

#include "arch/arch.h"

/* The kernel's names: no aliases, nor what a system call keeps of r3 and gives back. */
static const struct {
	const char *name;
	uint8_t reg;
} names[] = {
	{ "nip", PPC64EL_NIP },     { "msr", PPC64EL_MSR },   { "ctr", PPC64EL_CTR },
	{ "link", PPC64EL_LR },     { "xer", PPC64EL_XER },   { "ccr", PPC64EL_CCR },
	{ "softe", PPC64EL_SOFTE }, { "trap", PPC64EL_TRAP }, { "dar", PPC64EL_DAR },
	{ "dsisr", PPC64EL_DSISR },
};

/* @before and a decimal number below @count, without zeros in front. -1: it is not. */
static int numbered(const char *before, int count, const char *name, size_t len)
{
	size_t at = strlen(before);
	int number;

	if (len <= at || len > at + 2 || memcmp(name, before, at) != 0 || name[at] < '0' ||
	    name[at] > '9')
		return -1;
	number = name[at] - '0';
	if (len == at + 2) {
		if (number == 0 || name[at + 1] < '0' || name[at + 1] > '9')
			return -1;
		number = 10 * number + name[at + 1] - '0';
	}
	return number < count ? number : -1;
}

int ppc64el_reg_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0)
			return names[i].reg;
	return numbered("gpr", 32, name, len);
}

/* Numbers of the first 32 registers of vectors and scalars, which hold the floats. */
int ppc64el_more_reg_by_name(const char *name, size_t len)
{
	int vector = numbered("f", UBP_VECTORS, name, len);

	return vector < 0 ? -1 : UBP_REG_VECTOR + vector;
}
