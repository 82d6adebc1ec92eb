/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instructions for people. capstone 4 writes most of them; what it does not know has at
 * least a name here, if programs have it.
 */

#include "arch/ppc64el/text.h"

#include <stdio.h>

#include "arch/disasm.h"
#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"

static struct disasm decoder = DISASM(CS_ARCH_PPC, CS_MODE_64 | CS_MODE_LITTLE_ENDIAN);

struct name {
	uint32_t mask, value;
	const char *name;
};

static const struct name names[] = {
	/* What capstone would write wrongly, or not at all. */
	{ 0xffffffff, 0x7fe00008, "trap" },
	{ 0xfc00003e, 0x4c000004, "addpcis" },
	{ 0xfc00f82f, 0x44000001, "scv" },
	{ 0xfc0007ff, 0x4c000460, "bctar" },
	{ 0xffffffff, 0x429f0005, "bcl 20, 31, .+4" },
	{ 0xfc0007ff, 0x4c000461, "bctarl" },
	{ 0xfc0007ff, 0x7c00051d, "tbegin." },
	{ 0xfc0007ff, 0x7c00055d, "tend." },
	{ 0xfc0007fe, 0x7c000228, "lqarx" },
	{ 0xfc0007fe, 0x7c000068, "lbarx" },
	{ 0xfc0007fe, 0x7c0000e8, "lharx" },
	{ 0xfc0007ff, 0x7c00016d, "stqcx." },
	{ 0xfc0007ff, 0x7c00056d, "stbcx." },
	{ 0xfc0007ff, 0x7c0005ad, "sthcx." },
	{ 0xffffffff, 0x4c0000a4, "rfscv" },
	{ 0xfc0007fe, 0x4c000124, "rfebb" },
	{ 0xffffffff, 0x00000200, "attn" },
};

/* Of two words, by the kind of the prefix and the primary opcode of the suffix. */
static const struct {
	uint8_t kind, opcode;
	const char *name;
} prefixed[] = {
	{ 0, 41, "plwa" },    { 0, 42, "plxsd" }, { 0, 43, "plxssp" }, { 0, 46, "pstxsd" },
	{ 0, 47, "pstxssp" }, { 0, 50, "plxv" },  { 0, 51, "plxv" },   { 0, 54, "pstxv" },
	{ 0, 55, "pstxv" },   { 0, 56, "plq" },   { 0, 57, "pld" },    { 0, 58, "plxvp" },
	{ 0, 60, "pstq" },    { 0, 61, "pstd" },  { 0, 62, "pstxvp" }, { 2, 14, "paddi" },
	{ 2, 32, "plwz" },    { 2, 34, "plbz" },  { 2, 36, "pstw" },   { 2, 38, "pstb" },
	{ 2, 40, "plhz" },    { 2, 42, "plha" },  { 2, 44, "psth" },   { 2, 48, "plfs" },
	{ 2, 50, "plfd" },    { 2, 52, "pstfs" }, { 2, 54, "pstfd" },
};

static const char *name_of(uint32_t word)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((word & names[i].mask) == names[i].value)
			return names[i].name;
	return NULL;
}

static void describe_prefixed(const uint8_t *code, uint64_t vaddr, char *text, size_t size)
{
	uint32_t word = insn_word(code), suffix = insn_word(code + PPC64EL_INSN);
	unsigned kind = word >> 24 & 3;
	struct ppc64el_decoded d = ppc64el_decode(word, suffix, vaddr);
	const char *name = kind == 1   ? "of vectors"
			   : kind == 3 ? "of matrices"
				       : "of two words";

	if (word == 0x07000000)
		name = "pnop";
	for (size_t i = 0; i < sizeof(prefixed) / sizeof(prefixed[0]); i++)
		if (prefixed[i].kind == kind && prefixed[i].opcode == suffix >> 26)
			name = prefixed[i].name;
	if (d.form == PPC64EL_RELATIVE)
		snprintf(text, size, "%s (%08x %08x) 0x%llx", name, word, suffix,
			 (unsigned long long)d.target);
	else
		snprintf(text, size, "%s (%08x %08x)", name, word, suffix);
}

struct insn_text ppc64el_insn_text(const struct displaced_insn *insn)
{
	uint32_t word = insn_word(insn->bytes);
	const char *name = name_of(word);
	struct insn_text text = { "?" };

	if (insn->len == PPC64EL_PREFIXED)
		describe_prefixed(insn->bytes, insn->vaddr, text.s, sizeof(text.s));
	else if (insn->len && name)
		snprintf(text.s, sizeof(text.s), "%s (%08x)", name, word);
	else if (insn->len && !disasm_text(&decoder, insn->bytes, PPC64EL_INSN, insn->vaddr,
					   text.s, sizeof(text.s)))
		snprintf(text.s, sizeof(text.s), "(nameless) %08x", word);
	return text;
}
