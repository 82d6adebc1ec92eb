/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What unwinding a stack needs to know: DWARF's numbers of registers, frames of signals. */

#include "arch/x86/frame.h"

#include <string.h>

#include "arch/x86/regs.h"

/* psABI, figure 3.36; the last column is the return address. */
const uint8_t x86_dwarf_regs[X86_N_DWARF_REGS] = {
	X86_AX, X86_DX,  X86_CX,  X86_BX,  X86_SI,  X86_DI,  X86_BP,  X86_SP, X86_R8,
	X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15, X86_IP,
};

/* Of a ucontext, in the same order; the stack pointer points to it. */
const uint16_t x86_sigframe_at[X86_N_DWARF_REGS] = {
	144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168,
};

bool x86_is_sigreturn(const uint8_t *code, size_t len)
{
	/* mov $15, %rax (or %eax); syscall */
	static const uint8_t wide[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t narrow[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

	return (len >= sizeof(wide) && memcmp(code, wide, sizeof(wide)) == 0) ||
	       (len >= sizeof(narrow) && memcmp(code, narrow, sizeof(narrow)) == 0);
}
