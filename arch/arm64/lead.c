/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Leads (arch/detour.h): what the instructions do that functions begin with. Those that are not
 * named here have effects that are not looked into, and are no leads.
 *
 * The return address comes in x30. Who reads it, as most functions do that store it on the stack first of
 * all, or changes it, as those do that sign it, is no lead for a return probe: it would come too late.
 */

#include "arch/arm64/lead.h"

#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/detour.h"
#include "arch/insn_word.h"

#define BIT(reg)  (1ULL << (reg))
#define NUMBER_SP 31 /* or that of no register */

/* What a function of the program's must give back as it was, and what it gets arguments in. */
#define KEPT_REGS (BIT(30) - BIT(19))
#define ARG_REGS  (BIT(9) - 1)

static unsigned field(uint32_t word, unsigned at)
{
	return word >> at & 31;
}

static int32_t sign_extend(uint32_t value, unsigned bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static void set_reg(struct lead *lead, unsigned reg)
{
	if (reg < NUMBER_SP)
		lead->sets |= BIT(reg);
	lead->uses_link |= reg == ARM64_X30;
}

static void read_reg(struct lead *lead, unsigned reg)
{
	lead->uses_link |= reg == ARM64_X30;
}

/* --- hints, system registers ------------------------------------------------------------ */

static bool one_system(uint32_t word, struct lead *lead)
{
	if ((word & 0xfff00000) == 0xd5300000) { /* mrs */
		set_reg(lead, arm64_rd(word));
		return true;
	}
	if ((word & 0xfffff01f) != ARM64_NOP - (ARM64_NOP & 0xfe0))
		return false;
	switch (word >> 5 & 0x7f) {
	case 0:  /* nop */
	case 32: /* bti */
	case 34:
	case 36:
	case 38:
		return true;
	case 24: /* paciaz, paciasp, pacibz, pacibsp */
	case 25:
	case 26:
	case 27:
		set_reg(lead, ARM64_X30);
		return true;
	default:
		return false;
	}
}

/* --- numbers ----------------------------------------------------------------------------- */

/* sub sp, sp, #n; the same as add of other registers, and and their kin. */
static bool one_immediate(uint32_t word, struct lead *lead)
{
	unsigned kind = word >> 23 & 7, rd = arm64_rd(word);
	bool sets_flags = word >> 29 & 1;

	switch (kind) {
	case 0: /* adr, adrp */
	case 1:
	case 5: /* movn, movz, movk */
		set_reg(lead, rd);
		return true;
	case 2: /* add, sub */
		if (rd == NUMBER_SP && !sets_flags) {
			/* sub, of 64 bits, of the stack pointer */
			if (word >> 30 != 3 || arm64_rn(word) != NUMBER_SP)
				return false;
			lead->sp_down = (word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
			return lead->sp_down != 0;
		}
		break;
	case 4: /* and, orr, eor; ands */
		if (rd == NUMBER_SP && (word >> 29 & 3) != 3)
			return false;
		break;
	case 6: /* bit-fields; extr has another source */
	case 7:
		read_reg(lead, kind == 7 ? field(word, 16) : NUMBER_SP);
		break;
	default: /* with tags */
		return false;
	}
	read_reg(lead, arm64_rn(word));
	set_reg(lead, rd);
	return true;
}

static bool one_register(uint32_t word, struct lead *lead)
{
	bool is_extended = (word & 0x1f200000) == 0x0b200000;

	/* add and sub of an extended register work on the stack pointer */
	if (is_extended && arm64_rd(word) == NUMBER_SP && !(word >> 29 & 1))
		return false;
	read_reg(lead, arm64_rn(word));
	read_reg(lead, field(word, 16));
	read_reg(lead, field(word, 10));
	set_reg(lead, arm64_rd(word));
	return true;
}

/* Each has one result, in a vector register or in another. */
static bool one_vector(uint32_t word, struct lead *lead)
{
	read_reg(lead, arm64_rn(word));
	set_reg(lead, arm64_rd(word));
	lead->sets_vectors |= 1U << arm64_rd(word);
	return true;
}

/* --- memory ------------------------------------------------------------------------------ */

struct access {
	bool is_load, is_vector, is_pair;
	bool writes_back, is_before; /* the base register; before the access */
	unsigned size;               /* bytes of each register */
	int32_t disp;
};

static void load_regs(uint32_t word, const struct access *a, struct lead *lead)
{
	unsigned second = a->is_pair ? field(word, 10) : NUMBER_SP;

	if (a->is_vector) {
		lead->sets_vectors |= 1U << arm64_rd(word);
		if (a->is_pair)
			lead->sets_vectors |= 1U << second;
		return;
	}
	set_reg(lead, arm64_rd(word));
	set_reg(lead, second);
}

static void store_regs(uint32_t word, const struct access *a, struct lead *lead)
{
	if (a->is_vector)
		return;
	read_reg(lead, arm64_rd(word));
	if (a->is_pair)
		read_reg(lead, field(word, 10));
}

/* All that is stored is below what the stack pointer was. */
static bool is_push(uint32_t word, const struct access *a)
{
	return !a->is_load && a->is_before && arm64_rn(word) == NUMBER_SP &&
	       a->disp <= -(int32_t)(a->is_pair ? 2 * a->size : a->size);
}

static bool note_access(uint32_t word, const struct access *a, struct lead *lead)
{
	unsigned base = arm64_rn(word);

	if (a->is_load)
		load_regs(word, a, lead);
	else
		store_regs(word, a, lead);
	read_reg(lead, base);
	if (!a->writes_back) {
		lead->stores = !a->is_load;
		return true;
	}
	if (base != NUMBER_SP) {
		lead->stores = !a->is_load;
		set_reg(lead, base);
		return true;
	}
	if (!is_push(word, a))
		return false;
	lead->is_push = true;
	lead->sp_down = (uint32_t)-a->disp;
	return true;
}

/* ldp, stp and their kin. */
static bool one_pair(uint32_t word, struct lead *lead)
{
	unsigned opc = word >> 30, way = word >> 23 & 3;
	struct access a = { .is_load = word >> 22 & 1,
			    .is_vector = word >> 26 & 1,
			    .is_pair = true,
			    .writes_back = way == 1 || way == 3,
			    .is_before = way == 3 };

	/* ldpsw loads; stgp is for tags */
	if (opc == 3 || (opc == 1 && !a.is_vector && !a.is_load))
		return false;
	a.size = a.is_vector ? 4U << opc : opc == 2 ? 8 : 4;
	a.disp = sign_extend(word >> 15 & 0x7f, 7) * (int32_t)a.size;
	return note_access(word, &a, lead);
}

/* ldr, str and their kin. */
static bool one_single(uint32_t word, struct lead *lead)
{
	unsigned size = word >> 30, opc = word >> 22 & 3, way = word >> 10 & 3;
	bool is_plain = word >> 24 & 1, has_reg = !is_plain && (word >> 21 & 1);
	struct access a = { .is_vector = word >> 26 & 1, .size = 1U << size };

	a.is_load = a.is_vector ? opc & 1 : opc != 0;
	if (a.is_vector && opc >= 2)
		a.size = 16;
	if (has_reg && way != 2) /* atomic ones, and those with signed addresses */
		return false;
	if (has_reg) {
		read_reg(lead, field(word, 16));
	} else if (!is_plain) {
		a.writes_back = way & 1;
		a.is_before = way == 3;
		a.disp = sign_extend(word >> 12 & 0x1ff, 9);
	}
	if (!a.is_vector && size == 3 && opc >= 2) /* prfm: nothing */
		return opc == 2 && !a.writes_back;
	return note_access(word, &a, lead);
}

static bool one_literal(uint32_t word, struct lead *lead)
{
	struct access a = { .is_load = true, .is_vector = word >> 26 & 1 };

	if (word >> 30 == 3) /* prfm */
		return !a.is_vector;
	load_regs(word, &a, lead);
	return true;
}

static bool one_memory(uint32_t word, struct lead *lead)
{
	if ((word & 0x3a000000) == 0x28000000)
		return one_pair(word, lead);
	if ((word & 0x3b000000) == 0x18000000)
		return one_literal(word, lead);
	/* Those with bit 24 and without, but for vectors' structures and exclusive ones. */
	if ((word & 0x3a000000) == 0x38000000)
		return one_single(word, lead);
	return false;
}

/* --- leads ------------------------------------------------------------------------------- */

static bool one_lead(uint32_t word, struct lead *lead)
{
	switch (word >> 25 & 15) {
	case 8:
	case 9:
		return one_immediate(word, lead);
	case 10:
	case 11:
		return one_system(word, lead);
	case 5:
	case 13:
		return one_register(word, lead);
	case 7:
	case 15:
		return one_vector(word, lead);
	case 4:
	case 6:
	case 12:
	case 14:
		return one_memory(word, lead);
	default:
		return false;
	}
}

bool arm64_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead)
{
	struct lead *lead = ret_lead;
	uint32_t word = len >= ARM64_INSN ? insn_word(code) : 0;
	struct arm64_decoded d = arm64_decode(word, 0);

	memset(lead, 0, sizeof(*lead));
	if (len < ARM64_INSN || d.form == ARM64_UNKNOWN || d.form == ARM64_REFUSED ||
	    arm64_is_prefix(word) || !one_lead(word, lead))
		return false;
	lead->sets_kept = lead->sets & (KEPT_REGS | BIT(ARM64_X30));
	lead->sets_arg = lead->sets & ARG_REGS;
	/* Where it stands by itself it may have been replaced already: at the first instruction. */
	if (lead->uses_link)
		lead->sets |= BIT(ARM64_X30);
	/* Whether it changes the flags is not worth a table: few ask for them. */
	if (!lead->is_push && !lead->sp_down && (word & 0xfffff01f) != 0xd503201f)
		lead->sets |= BIT(ARM64_PSTATE);
	lead->len = ARM64_INSN;
	memcpy(lead->bytes, code, ARM64_INSN);
	return true;
}

/* A breakpoint: the kernel's, or a debugger's, which carries out what was there. */
bool arm64_lead_stands(const struct lead *lead, const uint8_t *now)
{
	return memcmp(now, lead->bytes, ARM64_INSN) == 0 ||
	       (insn_word(now) & ARM64_BRK_MASK) == ARM64_BRK;
}
