/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions for people. capstone 4 writes most of them, and a newer one more; what it
 * does not know has at least a name here, if programs have it.
 */

#include "arch/arm64/text.h"

#include <stdio.h>

#include "arch/arm64/decode.h"
#include "arch/disasm.h"
#include "arch/insn_word.h"

static struct disasm decoder = DISASM(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN);

static bool disassemble(uint32_t word, uint64_t vaddr, char *text, size_t size)
{
	uint8_t bytes[ARM64_INSN];

	insn_put_word(bytes, word);
	return disasm_text(&decoder, bytes, sizeof(bytes), vaddr, text, size);
}

static const struct {
	uint32_t mask, value;
	const char *name;
} names[] = {
	{ 0xffffffff, 0xd65f0bff, "retaa" },
	{ 0xffffffff, 0xd65f0fff, "retab" },
	{ 0xffffffff, 0xd503233f, "paciasp" },
	{ 0xffffffff, 0xd50323bf, "autiasp" },
	{ 0xffffffff, 0xd503237f, "pacibsp" },
	{ 0xffffffff, 0xd50323ff, "autibsp" },
	{ 0xffffffff, 0xd50320ff, "xpaclri" },
	{ 0xffffffff, 0xd503241f, "bti" },
	{ 0xffffffff, 0xd503245f, "bti c" },
	{ 0xffffffff, 0xd503249f, "bti j" },
	{ 0xffffffff, 0xd50324df, "bti jc" },
	{ 0xffffffff, 0xd50324ff, "pacm" },
	{ 0xfffffc1f, 0xd61f081f, "braaz" },
	{ 0xfffffc1f, 0xd61f0c1f, "brabz" },
	{ 0xfffffc1f, 0xd63f081f, "blraaz" },
	{ 0xfffffc1f, 0xd63f0c1f, "blrabz" },
	{ 0xfffffc00, 0xd71f0800, "braa" },
	{ 0xfffffc00, 0xd71f0c00, "brab" },
	{ 0xfffffc00, 0xd73f0800, "blraa" },
	{ 0xfffffc00, 0xd73f0c00, "blrab" },
	{ 0xffe0001f, 0x5500001f, "retaasppc" },
	{ 0xffe0001f, 0x5520001f, "retabsppc" },
	{ 0xffe0001f, 0xf380001f, "autiasppc" },
	{ 0xffe0001f, 0xf3a0001f, "autibsppc" },
	{ 0xffffffff, 0xdac1a3fe, "paciasppc" },
	{ 0xffffffff, 0xdac1a7fe, "pacibsppc" },
	{ 0xff000010, 0x54000010, "bc.cond" },
	{ 0x7e000000, 0x74000000, "cb<cond>" },
	{ 0xfffffc00, 0x0420bc00, "movprfx" },
	{ 0xff3ee000, 0x04102000, "movprfx" },
	{ 0xffe0001f, 0xd4600000, "tcancel" },
	{ 0xffffffe0, 0xd5233060, "tstart" },
	{ 0xffffffff, 0xd503307f, "tcommit" },
	{ 0xffff0000, 0x00000000, "udf" },
	{ 0xbfe07c00, 0x08207c00, "casp" },
	{ 0xbfe0fc00, 0x0820fc00, "caspl" },
	{ 0xbfe07c00, 0x08607c00, "caspa" },
	{ 0xbfe0fc00, 0x0860fc00, "caspal" },
	{ 0x3fe0fc00, 0x08a07c00, "cas" },
	{ 0x3fe0fc00, 0x08a0fc00, "casl" },
	{ 0x3fe0fc00, 0x08e07c00, "casa" },
	{ 0x3fe0fc00, 0x08e0fc00, "casal" },
	{ 0x3ffffc00, 0x38bfc000, "ldapr" },
	{ 0x3f200c00, 0x19000000, "stlur or ldapur" },
	{ 0x3fe00c00, 0x19000400, "cpyfp" },
	{ 0x3fe00c00, 0x19400400, "cpyfm" },
	{ 0x3fe00c00, 0x19800400, "cpyfe" },
	{ 0x3fe00c00, 0x1d000400, "cpyp" },
	{ 0x3fe00c00, 0x1d400400, "cpym" },
	{ 0x3fe00c00, 0x1d800400, "cpye" },
	{ 0x3be00c00, 0x19c00400, "setp, setm or sete" },
	{ 0xff200000, 0xd9200000, "a store or load of tags" },
	{ 0xff200400, 0xf8200400, "ldraa or ldrab" },
	{ 0x1e000000, 0x04000000, "of the scalable vectors" },
};

/* The eight operations of atomic memory instructions, and swp. */
static const char *atomic_name(uint32_t word)
{
	static const char *const operations[] = { "ldadd",  "ldclr",  "ldeor",  "ldset",
						  "ldsmax", "ldsmin", "ldumax", "ldumin" };

	if ((word & 0x3f20fc00) == 0x38208000)
		return "swp";
	return (word & 0x3f208c00) == 0x38200000 ? operations[word >> 12 & 7] : NULL;
}

static const char *name_of(uint32_t word, bool exact)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((word & names[i].mask) == names[i].value &&
		    (!exact || names[i].mask == UINT32_MAX))
			return names[i].name;
	return NULL;
}

static void describe(uint32_t word, uint64_t vaddr, char *text, size_t size)
{
	const char *name = name_of(word, true);

	if (name) {
		snprintf(text, size, "%s", name); /* capstone has but a hint's number */
		return;
	}
	if (disassemble(word, vaddr, text, size))
		return;
	name = atomic_name(word);
	if (!name)
		name = name_of(word, false);
	if (name)
		snprintf(text, size, "%s (%08x)", name, word);
	else
		snprintf(text, size, "(nameless) %08x", word);
}

struct insn_text arm64_insn_text(const struct displaced_insn *insn)
{
	struct insn_text text = { "?" };

	if (insn->len)
		describe(insn_word(insn->bytes), insn->vaddr, text.s, sizeof(text.s));
	return text;
}
