/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names of registers, as the kernel's uprobe_events has them, and those of the extended
 * grammar.
 */

#include "arch/arm64/regs.h"

#include <string.h>

#include "arch/arch.h"

/* The kernel's names: no parts of registers, no other name of x29. */
static const struct {
	const char *name;
	uint8_t reg;
} names[] = {
	{ "lr", ARM64_X30 },
	{ "sp", ARM64_SP },
	{ "pc", ARM64_PC },
	{ "pstate", ARM64_PSTATE },
};

/* @letter and a decimal number below @count, without zeros in front. -1: it is not. */
static int numbered(char letter, int count, const char *name, size_t len)
{
	int number;

	if (len < 2 || len > 3 || name[0] != letter || name[1] < '0' || name[1] > '9')
		return -1;
	number = name[1] - '0';
	if (len == 3) {
		if (number == 0 || name[2] < '0' || name[2] > '9')
			return -1;
		number = 10 * number + name[2] - '0';
	}
	return number < count ? number : -1;
}

int arm64_reg_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0)
			return names[i].reg;
	return numbered('x', ARM64_SP, name, len);
}

const char *arm64_reg_name(size_t i)
{
	static const char *const all[] = {
		"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",     "x7",  "x8",
		"x9",  "x10", "x11", "x12", "x13", "x14", "x15",    "x16", "x17",
		"x18", "x19", "x20", "x21", "x22", "x23", "x24",    "x25", "x26",
		"x27", "x28", "x29", "x30", "sp",  "pc",  "pstate",
	};

	return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

int arm64_more_reg_by_name(const char *name, size_t len)
{
	static const char tp[] = "tpidr_el0";
	int vector = numbered('v', ARM64_VECTORS, name, len);

	if (len == sizeof(tp) - 1 && memcmp(name, tp, len) == 0)
		return ARM64_TP;
	return vector < 0 ? -1 : UBP_REG_VECTOR + vector;
}
