/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the tables of 64-bit and of 32-bit programs (struct ubp_arch) have alike. */

#ifndef UBP_ARCH_X86_COMMON_TABLE_H
#define UBP_ARCH_X86_COMMON_TABLE_H

#include <signal.h>

#include "arch/arch.h"
#include "arch/x86/classify.h"
#include "arch/x86/lead.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/slot.h"
#include "arch/x86/stub.h"
#include "arch/x86/window.h"

/* Those of the tracee's kernel: SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK. */
#define X86_GUARD_FLAGS (0x4 | 0x04000000 | 0x40000000 | 0x08000000)

/* clang-format off */
#define X86_TABLE \
	.insn.align = 1, \
	.swbp.code = { 0xcc }, \
	.swbp.len = 1, \
	.swbp.nop = { 0x90 }, \
	.swbp.pc_advance = 1, \
	.swbp.si_code = SI_KERNEL, \
	.shadow.in_status = { "x86_Thread_features:", "shstk" }, \
	.shadow.in_cpuinfo = { "flags\t", "user_shstk" }, \
	.reg.n = X86_N_REGS, \
	.reg.pc = X86_IP, \
	.reg.sp = X86_SP, \
	.reg.fp = X86_BP, \
	.reg.retval = X86_AX, \
	.reg.link = X86_N_REGS, \
	.reg.name = x86_reg_name, \
	.reg.flags = X86_FLAGS, \
	.reg.flags_own = X86_FLAGS_OWN, \
	.return_in = RETURN_IN_STACK, \
	.insn.move = x86_move_insn, \
	.insn.text = x86_insn_text, \
	.slot.build = x86_build_slot, \
	.insn.is_taken = x86_is_taken, \
	.insn.looks_done = x86_looks_done, \
	.slot.leave = x86_slot_leave, \
	.trampoline.way_home = { X86_WAY_HOME }, \
	.stub.regs = x86_stub_regs, \
	.call.len = 2, \
	.guard.flags = X86_GUARD_FLAGS, \
	.insn.takes_return = x86_takes_return, \
	.jump.short_back = X86_SHORT_BACK, \
	.jump.short_on = X86_SHORT_ON, \
	.jump.ends_flow = x86_ends_flow, \
	.jump.build_copy = x86_build_copy, \
	.jump.copy_leave = x86_copy_leave, \
	.jump.build = x86_build_jump, \
	.detour.scans = true, \
	.insn.scan_refs = x86_scan_refs
/* clang-format on */

#endif
