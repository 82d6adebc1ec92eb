/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a function does right before it returns, mostly: it loads its result, and gives its part of the stack back. All else is refused, known
 * to be harmless or not.
 */

#include "arch/x86/run_up.h"

#include "arch/arch.h"
#include "arch/x86/classify.h"
#include "arch/x86/split.h"

#define SP                                                                                     \
	4 /* in a modrm byte: a sib byte follows; in a sib byte: the stack pointer, or no index */

/* A stack word, by the stack pointer and a distance: the stack is there. */
static bool is_stack_word(const struct displaced_insn *insn, const struct x86_parts *p)
{
	uint8_t sib;

	if ((p->modrm & 7) != SP || p->modrm_at + 1 >= insn->len)
		return false;
	sib = insn->bytes[p->modrm_at + 1];
	return (sib & 7) == SP && (sib >> 3 & 7) == SP && !(p->rex & 3); /* nor r12 */
}

static bool is_one_byte(const struct displaced_insn *insn, const struct x86_parts *p)
{
	bool in_regs = p->has_modrm && x86_modrm_mod(p) == 3;
	bool by_stack = p->has_modrm && !in_regs && is_stack_word(insn, p);

	switch (p->opcode) {
	case 0x01:
	case 0x03: /* add */
	case 0x09:
	case 0x0b: /* or */
	case 0x21:
	case 0x23: /* and */
	case 0x29:
	case 0x2b: /* sub */
	case 0x31:
	case 0x33: /* xor */
	case 0x39:
	case 0x3b: /* cmp */
	case 0x81:
	case 0x83: /* all of them with a number */
	case 0x84:
	case 0x85: /* test */
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b: /* mov */
		return in_regs || by_stack;
	case 0xc6:
	case 0xc7: /* mov with a number; others are xabort and xbegin */
		return (in_regs || by_stack) && x86_modrm_reg(p) == 0;
	case 0x8d: /* lea */
		return p->has_modrm && !in_regs;
	default: /* pop %reg; mov $number,%reg */
		return (p->opcode & 0xf8) == 0x58 || (p->opcode & 0xf8) == 0xb8;
	}
}

static bool is_two_bytes(const struct displaced_insn *insn, const struct x86_parts *p)
{
	bool in_regs = p->has_modrm && x86_modrm_mod(p) == 3;
	bool by_stack = p->has_modrm && !in_regs && is_stack_word(insn, p);

	switch (p->opcode) {
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf: /* movzx, movsx */
		return in_regs || by_stack;
	case 0x10: /* movups, movss, movsd */
		return in_regs || by_stack;
	case 0x6e:
	case 0x7e: /* movd, movq; with f3, a load */
		return in_regs || (by_stack && !(p->prefixes & PREFIX_REP));
	case 0x6f: /* movdqa, movdqu, movq */
	case 0xef: /* pxor */
		return in_regs;
	default: /* cmovcc, setcc */
		return in_regs && ((p->opcode & 0xf0) == 0x40 || (p->opcode & 0xf0) == 0x90);
	}
}

bool x86_runs_anywhere(const struct displaced_insn *insn)
{
	struct x86_parts p;

	if (insn->bits != 64 || insn->form != FORM_COPY || insn->leave != LEAVE_NOT ||
	    insn->is_call || insn->pc_relative ||
	    !x86_split(insn->bits, insn->bytes, insn->len, &p) || p.segment ||
	    p.prefixes & (PREFIX_LOCK | PREFIX_ADDRSIZE))
		return false;
	return p.map == MAP_ONE ? is_one_byte(insn, &p)
				: p.map == MAP_0F && is_two_bytes(insn, &p);
}

/* movs and stos, repeated or not; mov, but from a number to what may be xbegin; loads, stores and moves of vectors; and xor of these. */
static bool copies(const struct displaced_insn *insn, const struct x86_parts *p)
{
	switch (p->map == MAP_VEX && p->vector_map == 1 ? 0x0f00 | p->opcode
		: p->map == MAP_0F                      ? 0x0f00 | p->opcode
		: p->map == MAP_ONE                     ? p->opcode
							: 0) {
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
	case 0xa4:
	case 0xa5:
	case 0xaa:
	case 0xab:
		return true;
	case 0xc6:
	case 0xc7:
		return x86_modrm_reg(p) == 0;
	case 0x0f10:
	case 0x0f11:
	case 0x0f6f:
	case 0x0f7f:
	case 0x0fef:
		return true;
	case 0x0f77: /* vzeroupper; emms */
		return p->map == MAP_VEX;
	default:
		return x86_runs_anywhere(insn);
	}
}

bool x86_runs_or_faults(const struct displaced_insn *insn)
{
	struct x86_parts p;

	return insn->bits == 64 && insn->form == FORM_COPY && insn->leave == LEAVE_NOT &&
	       !insn->is_call && !insn->pc_relative &&
	       x86_split(insn->bits, insn->bytes, insn->len, &p) && !p.segment &&
	       !(p.prefixes & (PREFIX_LOCK | PREFIX_ADDRSIZE)) && copies(insn, &p);
}
