/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Names of registers, as the kernel's uprobe_events has them, and those of the extended
 * grammar.
 */

#include "arch/x86/regs.h"

#include <string.h>

#include "arch/arch.h"

/* The kernel's names: no prefix r or e, no parts of registers, no segments of data. */
static const struct {
	const char *name;
	enum user_reg reg;
} names[] = {
	{ "ax", X86_AX },       { "bx", X86_BX },   { "cx", X86_CX },
	{ "dx", X86_DX },       { "si", X86_SI },   { "di", X86_DI },
	{ "bp", X86_BP },       { "sp", X86_SP },   { "r8", X86_R8 },
	{ "r9", X86_R9 },       { "r10", X86_R10 }, { "r11", X86_R11 },
	{ "r12", X86_R12 },     { "r13", X86_R13 }, { "r14", X86_R14 },
	{ "r15", X86_R15 },     { "ip", X86_IP },   { "cs", X86_CS },
	{ "flags", X86_FLAGS }, { "ss", X86_SS },   { "orig_ax", X86_ORIG_AX },
};

static const char *const vector_names[X86_VECTORS] = {
	"xmm0", "xmm1", "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",
	"xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
};

int x86_more_reg_by_name(const char *name, size_t len)
{
	unsigned n;

	if (len == 7 && memcmp(name, "fs_base", len) == 0)
		return X86_FS_BASE;
	if (len == 7 && memcmp(name, "gs_base", len) == 0)
		return X86_GS_BASE;
	for (n = 0; n < X86_VECTORS; n++)
		if (strlen(vector_names[n]) == len && memcmp(vector_names[n], name, len) == 0)
			return UBP_REG_VECTOR + (int)n;
	return -1;
}

const char *x86_reg_name(size_t i)
{
	return i < sizeof(names) / sizeof(names[0]) ? names[i].name : NULL;
}

int x86_reg_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0)
			return names[i].reg;
	return -1;
}
