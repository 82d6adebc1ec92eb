/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the bits of an instruction say. */

#ifndef UBP_ARCH_PPC64EL_DECODE_H
#define UBP_ARCH_PPC64EL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PPC64EL_INSN     4
#define PPC64EL_PREFIXED 8
#define PPC64EL_NOP      0x60000000 /* ori r0, r0, 0 */
#define PPC64EL_SWBP     0x7fe00008 /* trap */
#define PPC64EL_INSN_B   0x48000000
#define PPC64EL_ABSOLUTE 2 /* AA of branches */
#define PPC64EL_LINK     1 /* LK of branches */

/* An instruction of two words must not cross such a border. */
#define PPC64EL_BLOCK 64

/* How far b and bl lead, either way. */
#define PPC64EL_B_REACH 0x2000000

/* How the slot of an instruction is built: displaced_insn.form. */
enum ppc64el_form {
	PPC64EL_COPY,     /* the instruction, of one word or two, then a jump back */
	PPC64EL_NOTHING,  /* nop */
	PPC64EL_B,        /* b target */
	PPC64EL_BL,       /* bl target */
	PPC64EL_B_IF,     /* bc: conditions, and counting down */
	PPC64EL_BL_IF,    /* bcl */
	PPC64EL_LEAVE,    /* blr, bctr, bctar, and those with a condition */
	PPC64EL_CALL,     /* bctrl, bctarl, and those with a condition */
	PPC64EL_ADDRESS,  /* addpcis */
	PPC64EL_RELATIVE, /* of two words, with an operand relative to the pc */
	PPC64EL_REFUSED,  /* ppc64el_decoded.why tells */
	PPC64EL_UNKNOWN,  /* is no instruction, or could be anything */
};

/* What the bits say. */
struct ppc64el_decoded {
	enum ppc64el_form form;
	const char *why; /* PPC64EL_REFUSED */
	uint64_t target;
};

/* Does a second word belong to this one? */
static inline bool ppc64el_is_prefix(uint32_t word)
{
	return word >> 26 == 1;
}

/* @suffix is looked at only if @word is a prefix. */
struct ppc64el_decoded ppc64el_decode(uint32_t word, uint32_t suffix, uint64_t vaddr);

/* The reach of the operand of a PPC64EL_RELATIVE; false: too far. */
bool ppc64el_set_distance(uint32_t words[2], int64_t distance);

/* Loads and stores that work with the reservation. */
bool ppc64el_is_load_reserve(uint32_t word);
bool ppc64el_is_store_conditional(uint32_t word);

/* Of branches: may they not be taken? */
bool ppc64el_is_conditional(uint32_t word);

/* The register, or what else stands there: BO of branches. */
static inline unsigned ppc64el_rt(uint32_t word)
{
	return word >> 21 & 31;
}
/* Bytes of the instruction; 0: it is none. */
int ppc64el_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);

#endif
