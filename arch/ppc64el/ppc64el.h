/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files of the ppc64el back-end share: POWER, 64 bits, little endian, ELFv2. What
 * there is so far is pure; threads of such programs can't be traced yet.
 *
 * decode.c knows bits, text.c words, classify.c decides what may be displaced and how,
 * exclusive.c where, slot.c writes the code for it, window.c for what stands under a jump,
 * refs.c looks for who jumps where, regs.c and frame.c have the registers.
 */

#ifndef UBP_ARCH_PPC64EL_PPC64EL_H
#define UBP_ARCH_PPC64EL_PPC64EL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Order of struct pt_regs, which other hosts don't have. */
enum ppc64el_reg_index {
	PPC64EL_R0,
	PPC64EL_R1 = 1, /* the stack pointer */
	PPC64EL_R3 = 3,
	PPC64EL_R13 = 13, /* by which a thread's own memory is found */
	PPC64EL_R31 = 31, /* the frame pointer, where there is one */
	PPC64EL_NIP,
	PPC64EL_MSR,
	PPC64EL_ORIG_R3,
	PPC64EL_CTR,
	PPC64EL_LR,
	PPC64EL_XER,
	PPC64EL_CCR,
	PPC64EL_SOFTE,
	PPC64EL_TRAP,
	PPC64EL_DAR,
	PPC64EL_DSISR,
	PPC64EL_RESULT,
	PPC64EL_N_REGS,
};

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
	PPC64EL_CALL,     /* bctrl, bctarl, likewise */
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

/* The words of an instruction for people. */
void ppc64el_disassemble(const uint8_t *code, size_t len, uint64_t vaddr, char *text,
			 size_t size);

static inline uint32_t ppc64el_word(const uint8_t *code)
{
	return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static inline void ppc64el_put_word(uint8_t *code, uint32_t word)
{
	for (int i = 0; i < PPC64EL_INSN; i++)
		code[i] = (uint8_t)(word >> 8 * i);
}

/* The register, or what else stands there: BO of branches. */
static inline unsigned ppc64el_rt(uint32_t word)
{
	return word >> 21 & 31;
}

/* b from @from to @to; false: too far. */
bool ppc64el_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word);

extern const struct ubp_arch ubp_arch_ppc64el;

/* The functions behind ubp_arch_ppc64el, see arch/arch.h. */
int ppc64el_reg_by_name(const char *name, size_t len);
int ppc64el_more_reg_by_name(const char *name, size_t len);
int ppc64el_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);
int ppc64el_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
			 struct displaced_insn *ret_insn, struct ubp_err *err);
const char *ppc64el_refuse_at(const uint8_t *code, size_t len, size_t at);
void ppc64el_move_insn(struct displaced_insn *insn, uint64_t vaddr);
bool ppc64el_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs);
int ppc64el_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		       struct slot_code *ret_code, struct ubp_err *err);
bool ppc64el_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
			uint64_t slot_vaddr, struct ubp_regs *regs);
void ppc64el_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);

int ppc64el_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
			struct window *ret_window, struct ubp_err *err);
int ppc64el_build_copy(const struct window *window, uint64_t vaddr,
		       struct window_copy *ret_copy, struct ubp_err *err);
bool ppc64el_copy_leave(const struct window *window, const struct window_copy *copy,
			uint64_t vaddr, struct ubp_regs *regs);
int ppc64el_build_jump(const struct window *window, uint64_t site, uint64_t target,
		       uint8_t *ret_jump, struct ubp_err *err);
void ppc64el_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		       void (*each)(void *ctx, uint64_t at, uint64_t target,
				    enum code_ref kind),
		       void *ctx);
size_t ppc64el_fill_len(const uint8_t *code, size_t len);
size_t ppc64el_go_check_len(const uint8_t *code, size_t len);

uint64_t ppc64el_entry_off(uint8_t st_other);

/* r0 to r31; the link register is 65; 64 is nobody's and stands for the pc. */
#define PPC64EL_N_DWARF_REGS 66
extern const uint8_t ppc64el_dwarf_regs[PPC64EL_N_DWARF_REGS];
extern const uint16_t ppc64el_sigframe_at[PPC64EL_N_DWARF_REGS];
bool ppc64el_is_sigreturn(const uint8_t *code, size_t len);
const uint16_t *ppc64el_sigframe_of(const uint8_t *code, size_t len);

#endif
