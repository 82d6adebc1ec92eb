/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What unwinding a stack needs to know: DWARF's numbers of registers, frames of signals. */

#include "arch/arm64/frame.h"

#include <string.h>

#include "arch/arm64/regs.h"

/* DWARF for the Arm 64-bit Architecture, 4.1. */
const uint8_t arm64_dwarf_regs[ARM64_N_DWARF_REGS] = {
	0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,       15,       16,
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, ARM64_SP, ARM64_PC,
};

/*
 * At the stack pointer there is a siginfo of 128 bytes, then a ucontext: 40 bytes, the mask in
 * 128, 8 to align; then sigcontext: the fault's address, x0 to x30, sp, pc.
 */
#define REGS_AT   (128 + 40 + 128 + 8 + 8)
#define REG_AT(n) (REGS_AT + 8 * (n))

const uint16_t arm64_sigframe_at[ARM64_N_DWARF_REGS] = {
	REG_AT(0),  REG_AT(1),  REG_AT(2),  REG_AT(3),  REG_AT(4),  REG_AT(5),  REG_AT(6),
	REG_AT(7),  REG_AT(8),  REG_AT(9),  REG_AT(10), REG_AT(11), REG_AT(12), REG_AT(13),
	REG_AT(14), REG_AT(15), REG_AT(16), REG_AT(17), REG_AT(18), REG_AT(19), REG_AT(20),
	REG_AT(21), REG_AT(22), REG_AT(23), REG_AT(24), REG_AT(25), REG_AT(26), REG_AT(27),
	REG_AT(28), REG_AT(29), REG_AT(30), REG_AT(31), REG_AT(32),
};

bool arm64_is_sigreturn(const uint8_t *code, size_t len)
{
	/* mov x8, #139; svc #0 */
	static const uint8_t call[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

	return len >= sizeof(call) && memcmp(code, call, sizeof(call)) == 0;
}
