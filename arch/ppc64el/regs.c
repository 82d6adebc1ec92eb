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
const char *ppc64el_reg_name(size_t i)
{
	static const char *const general[] = {
		"gpr0",  "gpr1",  "gpr2",  "gpr3",  "gpr4",  "gpr5",  "gpr6",  "gpr7",
		"gpr8",  "gpr9",  "gpr10", "gpr11", "gpr12", "gpr13", "gpr14", "gpr15",
		"gpr16", "gpr17", "gpr18", "gpr19", "gpr20", "gpr21", "gpr22", "gpr23",
		"gpr24", "gpr25", "gpr26", "gpr27", "gpr28", "gpr29", "gpr30", "gpr31",
	};
	const size_t n = sizeof(general) / sizeof(general[0]);

	if (i < n)
		return general[i];
	return i - n < sizeof(names) / sizeof(names[0]) ? names[i - n].name : NULL;
}

int ppc64el_more_reg_by_name(const char *name, size_t len)
{
	int vector = numbered("f", UBP_VECTORS, name, len);

	return vector < 0 ? -1 : UBP_REG_VECTOR + vector;
}
