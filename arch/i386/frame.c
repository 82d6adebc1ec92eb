/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What unwinding a stack needs to know: DWARF's numbers of registers, frames of signals. */

#include "arch/i386/frame.h"

#include <string.h>

#include "arch/x86/regs.h"

/* psABI for i386, figure 2.14. */
const uint8_t i386_dwarf_regs[I386_N_DWARF_REGS] = {
	X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_IP,
};

/*
 * Of the ucontext of a frame for SA_SIGINFO, in the same order: the restorer is entered with the
 * stack pointer at the handler's arguments, behind which are 128 bytes of siginfo.
 */
const uint16_t i386_sigframe_at[I386_N_DWARF_REGS] = {
	204, 200, 196, 192, 188, 184, 180, 176, 216,
};

/* Of a frame without one, which has the signal's number, then the registers. */
static const uint16_t old_sigframe_at[I386_N_DWARF_REGS] = {
	48, 44, 40, 36, 32, 28, 24, 20, 60,
};

/* pop %eax; mov $119,%eax; int $0x80 */
static bool is_old_sigreturn(const uint8_t *code, size_t len)
{
	static const uint8_t old[] = { 0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80 };

	return len >= sizeof(old) && memcmp(code, old, sizeof(old)) == 0;
}

const uint16_t *i386_sigframe_of(const uint8_t *code, size_t len)
{
	return is_old_sigreturn(code, len) ? old_sigframe_at : i386_sigframe_at;
}

bool i386_is_sigreturn(const uint8_t *code, size_t len)
{
	/* mov $173,%eax; int $0x80 */
	static const uint8_t rt[] = { 0xb8, 173, 0, 0, 0, 0xcd, 0x80 };

	return (len >= sizeof(rt) && memcmp(code, rt, sizeof(rt)) == 0) ||
	       is_old_sigreturn(code, len);
}
