/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the bits of an instruction say about where it may run. Only branches, addpcis and
 * the instructions of two words know where they are; all others run anywhere, known or
 * not: one that the processor doesn't have is refused by it in a slot as well as in the
 * program.
 *
 * Bits are quoted as in the Power ISA 3.1, book I, 1.6 and appendix D; a field "XO" is
 * that of the primary opcode at hand.
 */

#include "arch/ppc64el/decode.h"

#include "arch/insn_word.h"

static const char why_breakpoint[] = "it is a trap itself";
/* Functions end in tables for tracebacks, of such words. */
static const char why_undefined[] = "it is undefined for good: data, or a trap";
static const char why_kernel[] = "only the kernel may run it";
static const char why_gate[] = "it enters another level than the kernel";
static const char why_event[] = "it goes to where an event came from";
static const char why_reserve[] =
	"the reservation of memory that it makes or needs does not survive a breakpoint";
static const char why_transaction[] = "a transaction does not survive a breakpoint";
static const char why_link[] = "it goes by the register that it changes";
static const char why_border[] = "its two words lie in two blocks of 64 bytes: the processor "
				 "refuses it";

/* Of primary opcode 31: X-form, ten bits. */
enum {
	XO_TW = 4,
	XO_TD = 68,
	XO_MTMSR = 146,
	XO_MTMSRD = 178,
	XO_TBEGIN = 654,
	XO_TEND = 686,
	XO_TSR = 750,
	XO_TABORTWC = 782,
	XO_TABORTDC = 814,
	XO_TABORTWCI = 846,
	XO_TABORTDCI = 878,
	XO_TABORT = 910,
};

static unsigned xo(uint32_t word)
{
	return word >> 1 & 0x3ff;
}

static bool is_31(uint32_t word, unsigned operation)
{
	return word >> 26 == 31 && xo(word) == operation;
}

bool ppc64el_is_load_reserve(uint32_t word)
{
	return is_31(word, 20) ||  /* lwarx */
	       is_31(word, 52) ||  /* lbarx */
	       is_31(word, 84) ||  /* ldarx */
	       is_31(word, 116) || /* lharx */
	       is_31(word, 276);   /* lqarx */
}

bool ppc64el_is_store_conditional(uint32_t word)
{
	return word & 1 && (is_31(word, 150) || /* stwcx. */
			    is_31(word, 182) || /* stqcx. */
			    is_31(word, 214) || /* stdcx. */
			    is_31(word, 694) || /* stbcx. */
			    is_31(word, 726));  /* sthcx. */
}

bool ppc64el_is_conditional(uint32_t word)
{
	/* BO: whatever the condition, whatever the counter. */
	return word >> 26 != 18 && (ppc64el_rt(word) & 0x14) != 0x14;
}

/* The low @bits of @value, as a signed number. */
static int64_t sign(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static struct ppc64el_decoded plain(enum ppc64el_form form)
{
	return (struct ppc64el_decoded){ .form = form };
}

static struct ppc64el_decoded refused(const char *why)
{
	return (struct ppc64el_decoded){ .form = PPC64EL_REFUSED, .why = why };
}

/* --- branches -------------------------------------------------------------------------- */

static struct ppc64el_decoded leads_to(enum ppc64el_form form, uint32_t word, uint64_t vaddr,
				       unsigned bits)
{
	uint64_t field = word & ((UINT64_C(1) << bits) - 1) & ~UINT64_C(3);

	return (struct ppc64el_decoded){
		.form = form,
		.target = (word & PPC64EL_ABSOLUTE ? 0 : vaddr) + (uint64_t)sign(field, bits),
	};
}

/* Primary opcode 19: branches by a register, and what goes with conditions. */
static struct ppc64el_decoded decode_19(uint32_t word, uint64_t vaddr)
{
	bool is_link = word & PPC64EL_LINK;
	uint32_t d = (word >> 6 & 0x3ff) << 6 | (word >> 16 & 31) << 1 | (word & 1);

	if ((word >> 1 & 31) == 2) /* addpcis */
		return (struct ppc64el_decoded){
			.form = PPC64EL_ADDRESS,
			.target = vaddr + PPC64EL_INSN + ((uint64_t)sign(d, 16) << 16),
		};
	switch (xo(word)) {
	case 16: /* bclr */
		return is_link ? refused(why_link) : plain(PPC64EL_LEAVE);
	case 528: /* bcctr; one that counts down what it goes by is none */
		if (!(ppc64el_rt(word) & 4))
			return plain(PPC64EL_UNKNOWN);
		return plain(is_link ? PPC64EL_CALL : PPC64EL_LEAVE);
	case 560: /* bctar */
		return plain(is_link ? PPC64EL_CALL : PPC64EL_LEAVE);
	case 0:  /* mcrf */
	case 33: /* crnor, ... */
	case 129:
	case 193:
	case 225:
	case 257:
	case 289:
	case 417:
	case 449:
	case 150: /* isync */
		return plain(PPC64EL_COPY);
	case 146: /* rfebb */
		return refused(why_event);
	case 18: /* rfid, rfscv, hrfid, urfid, rfi and its kin, stop */
	case 82:
	case 274:
	case 306:
	case 38:
	case 39:
	case 50:
	case 51:
	case 370:
		return refused(why_kernel);
	default:
		return plain(PPC64EL_UNKNOWN);
	}
}

/* Primary opcode 17. The level of sc is 0 for the kernel. */
static struct ppc64el_decoded decode_call(uint32_t word)
{
	bool is_scv = (word & 3) == 1;

	if (!is_scv && (word & 3) != 2)
		return plain(PPC64EL_UNKNOWN);
	return !is_scv && word >> 5 & 0x7f ? refused(why_gate) : plain(PPC64EL_COPY);
}

/* --- two words ------------------------------------------------------------------------- */

static struct ppc64el_decoded decode_prefixed(uint32_t prefix, uint32_t suffix, uint64_t vaddr)
{
	unsigned kind = prefix >> 24 & 3, sub = prefix >> 20 & 15;
	uint64_t d = (uint64_t)(prefix & 0x3ffff) << 16 | (suffix & 0xffff);

	if (vaddr % PPC64EL_BLOCK == PPC64EL_BLOCK - PPC64EL_INSN)
		return refused(why_border);
	switch (kind) {
	case 0: /* 8LS, MLS: loads, stores, paddi; the last bit of the four is R */
	case 2:
		if (sub & ~1u)
			return plain(PPC64EL_UNKNOWN);
		if (!(sub & 1))
			return plain(PPC64EL_COPY);
		/* One that has a base as well is none. */
		if (suffix >> 16 & 31)
			return plain(PPC64EL_UNKNOWN);
		return (struct ppc64el_decoded){ .form = PPC64EL_RELATIVE,
						 .target = vaddr + (uint64_t)sign(d, 34) };
	case 1: /* 8RR */
		return plain(sub == 0 ? PPC64EL_COPY : PPC64EL_UNKNOWN);
	default: /* MRR: pnop; MMIRR */
		if (sub == 0)
			return plain(prefix == 0x07000000 && suffix >> 26 != 16 &&
						     suffix >> 26 != 18 && suffix >> 26 != 19
					     ? PPC64EL_COPY
					     : PPC64EL_UNKNOWN);
		return plain(sub == 9 ? PPC64EL_COPY : PPC64EL_UNKNOWN);
	}
}

bool ppc64el_set_distance(uint32_t words[2], int64_t distance)
{
	words[0] = (words[0] & ~0x3ffffu) | ((uint32_t)((uint64_t)distance >> 16) & 0x3ffff);
	words[1] = (words[1] & ~0xffffu) | ((uint32_t)distance & 0xffff);
	return sign((uint64_t)distance, 34) == distance;
}

/* --- the rest -------------------------------------------------------------------------- */

static struct ppc64el_decoded decode_31(uint32_t word)
{
	if (ppc64el_is_load_reserve(word) || ppc64el_is_store_conditional(word))
		return refused(why_reserve);
	switch (xo(word)) {
	case XO_TW:
	case XO_TD:
		return refused(why_breakpoint);
	case XO_MTMSR:
	case XO_MTMSRD:
		return refused(why_kernel);
	case XO_TBEGIN:
	case XO_TEND:
	case XO_TSR:
	case XO_TABORTWC:
	case XO_TABORTDC:
	case XO_TABORTWCI:
	case XO_TABORTDCI:
	case XO_TABORT:
		return refused(why_transaction);
	default:
		return plain(PPC64EL_COPY);
	}
}

struct ppc64el_decoded ppc64el_decode(uint32_t word, uint32_t suffix, uint64_t vaddr)
{
	switch (word >> 26) {
	case 0: /* attn: for service processors */
		return refused(xo(word) == 256 ? why_gate : why_undefined);
	case 1:
		return decode_prefixed(word, suffix, vaddr);
	case 2: /* tdi, twi */
	case 3:
		return refused(why_breakpoint);
	case 5: /* reserved */
	case 9:
	case 22:
		return plain(PPC64EL_UNKNOWN);
	case 16:
		return leads_to(word & PPC64EL_LINK ? PPC64EL_BL_IF : PPC64EL_B_IF, word, vaddr,
				16);
	case 17:
		return decode_call(word);
	case 18:
		return leads_to(word & PPC64EL_LINK ? PPC64EL_BL : PPC64EL_B, word, vaddr, 26);
	case 19:
		return decode_19(word, vaddr);
	case 24:
		return plain(word == PPC64EL_NOP ? PPC64EL_NOTHING : PPC64EL_COPY);
	case 31:
		return decode_31(word);
	default:
		return plain(PPC64EL_COPY);
	}
}

int ppc64el_insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	int n;

	(void)vaddr;
	if (len < PPC64EL_INSN)
		return 0;
	/* Data among instructions is as long. */
	n = ppc64el_is_prefix(insn_word(code)) ? PPC64EL_PREFIXED : PPC64EL_INSN;
	return len < (size_t)n ? 0 : n;
}
