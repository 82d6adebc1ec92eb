/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What may be displaced, and how. What struct ubp_arch (arch/arch.h) has a member for is
 * described there.
 */

#ifndef UBP_ARCH_X86_CLASSIFY_H
#define UBP_ARCH_X86_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* How the slot of an instruction is built: displaced_insn.form. */
enum x86_form {
	FORM_COPY,     /* the instruction, then a jump back */
	FORM_LEAVE,    /* the instruction alone: ret, jmp *x */
	FORM_JMP,      /* jmp target */
	FORM_JCC,      /* jcc target */
	FORM_LOOP,     /* loop, loope, loopne, jrcxz: have short forms only */
	FORM_CALL,     /* call target */
	FORM_CALL_IND, /* call *x */
	FORM_SYSCALL,  /* leaves the address behind it in rcx; in 32 bits: int $0x80 */
};

/* As x86_analyze_insn(), of code for @bits bits. */
int x86_analyze(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		struct displaced_insn *ret_insn, struct ubp_err *err);
/* May it be displaced, and how? */
int x86_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
		     struct displaced_insn *ret_insn, struct ubp_err *err);
/* Make of @insn the instruction that its bytes are at @vaddr. */
void x86_move_insn(struct displaced_insn *insn, uint64_t vaddr);
/* What it is called. */
struct insn_text x86_insn_text(const struct displaced_insn *insn);
/* Would the jump, or the return, be taken by a thread with these registers? */
bool x86_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs);

#endif
