/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of operations of arm64.
 *
 * decode.c knows bits, text.c words, classify.c decides what may be displaced and how,
 * exclusive.c where, sign.c where for returns, slot.c writes the code for it, window.c for what stands under a jump,
 * lead.c tells what stands before that, refs.c looks for who jumps where, regs.c and frame.c have the registers,
 * stub.c is the remote-call stub, guard.c and guard.S the guard, detour*.c detours, with the help of emit.c.
 */

#include <elf.h>

#include "arch/arm64/classify.h"
#include "arch/arm64/decode.h"
#include "arch/arm64/detour.h"
#include "arch/arm64/exclusive.h"
#include "arch/arm64/frame.h"
#include "arch/arm64/guard.h"
#include "arch/arm64/lead.h"
#include "arch/arm64/operand.h"
#include "arch/arm64/refs.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/sign.h"
#include "arch/arm64/slot.h"
#include "arch/arm64/stub.h"
#include "arch/arm64/text.h"
#include "arch/arm64/window.h"

/* Those of the tracee's kernel: SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK. */
#define GUARD_FLAGS (0x4 | 0x04000000 | 0x40000000 | 0x08000000)

const struct ubp_arch ubp_arch_arm64 = {
	.name = "arm64",
	.e_machine = EM_AARCH64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.torn_max = 1,
	.insn.align = ARM64_INSN,
	/* ARM64_SWBP */
	.swbp.code = { 0x40, 0xac, 0x2e, 0xd4 },
	.swbp.len = ARM64_INSN,
	.swbp.nop = { 0x1f, 0x20, 0x03, 0xd5 },
	.swbp.pc_advance = 0,
	.swbp.si_code = 1, /* TRAP_BRKPT */
	.elf.irelative = R_AARCH64_IRELATIVE,
	.elf.jump_slot = R_AARCH64_JUMP_SLOT,
	.elf.glob_dat = R_AARCH64_GLOB_DAT,
	.elf.features = 0xc0000000, /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
	.elf.landings = 1,          /* GNU_PROPERTY_AARCH64_FEATURE_1_BTI */
	.elf.libunwind = "aarch64",
	.operand.parse = arm64_operand_parse,
	.operand.has_blanks = true,
	.operand.dwarf_register = arm64_dwarf_register,
	.reg.n = ARM64_N_REGS,
	.reg.pc = ARM64_PC,
	.reg.sp = ARM64_SP,
	.reg.fp = ARM64_X29,
	.reg.retval = ARM64_X0,
	.reg.returns_in_vector = true,
	.reg.tp = ARM64_TP,
	.tag_mask = UINT64_C(0xff) << 56,
	.reg.link = ARM64_X30,
	.reg.own = ((UINT64_C(1) << ARM64_PC) - 1) | UINT64_C(1) << ARM64_PSTATE,
	.reg.flags = ARM64_PSTATE,
	.reg.flags_own = ARM64_FLAG_N | ARM64_FLAG_Z | ARM64_FLAG_C | ARM64_FLAG_V,
	.reg.flags_landing = ARM64_BTYPE,
	.reg.n_args = 8,
	.reg.args = { 0, 1, 2, 3, 4, 5, 6, 7 },
	.return_in = RETURN_IN_REGISTER,
	.unwind.n_regs = ARM64_N_DWARF_REGS,
	.unwind.regs = arm64_dwarf_regs,
	.unwind.is_sigreturn = arm64_is_sigreturn,
	.unwind.sigframe_at = arm64_sigframe_at,
	/* What a branch reaches: within as much of one object and its area, all is in reach. */
	.near_max = ARM64_B_REACH - 0x1000,
	.reg.by_name = arm64_reg_by_name,
	.reg.name = arm64_reg_name,
	.reg.more_by_name = arm64_more_reg_by_name,
	.insn.len = arm64_insn_len,
	.insn.analyze = arm64_analyze_insn,
	.insn.refuse_at = arm64_refuse_at,
	.insn.refuse_return_at = arm64_refuse_return_at,
	.insn.move = arm64_move_insn,
	.insn.text = arm64_insn_text,
	.slot.build = arm64_build_slot,
	.insn.is_taken = arm64_is_taken,
	.slot.leave = arm64_slot_leave,
	.trampoline.build = arm64_build_return_trampoline,
	.trampoline.way_home = { 0x1f, 0x20, 0x03, 0xd5 }, /* a nop: the jump there is next */
	.trampoline.leave = arm64_leave_trampoline,
	.trampoline.needs_guard = true,
	.jump.find = arm64_find_window,
	.jump.is_landing_pad = arm64_is_landing_pad,
	.jump.build_copy = arm64_build_copy,
	.jump.copy_leave = arm64_copy_leave,
	.slot.build_jump = arm64_build_slot_jump,
	.jump.build = arm64_build_jump,
	.insn.scan_refs = arm64_scan_refs,
	.insn.fill_len = arm64_fill_len,
	.insn.go_check_len = arm64_go_check_len,
	.reg.came_by_exception = arm64_came_by_exception,
	.stub.code = arm64_stub,
	.stub.len = ARM64_STUB_LEN,
	.stub.syscall_end = ARM64_STUB_SYSCALL_END,
	.call.restart = arm64_restart_syscall,
	.call.may_resume = arm64_may_resume,
	.call.reg = ARM64_X8,
	.call.nr_restart = 128,
	.stub.frame = arm64_stub_frame,
	.stub.frame_below = arm64_stub_frame_below,
	.stub.buffer_at = ARM64_STUB_BUFFER_AT,
	.stub.args = arm64_stub_args,
	.stub.regs = arm64_stub_regs,
	.stub.sign = arm64_stub_sign,
	.call.enter = arm64_enter_call,
	.call.len = 4,
	.call.result = arm64_syscall_result,
	.guard.code = arm64_guard,
	.guard.len = ARM64_GUARD_LEN,
	.guard.handler = ARM64_GUARD_HANDLER,
	.guard.restorer = ARM64_GUARD_RESTORER,
	.guard.flags = GUARD_FLAGS,
	.call.ptrace_number = { 4, { 0xa8, 0x0e, 0x80, 0xd2 } },    /* mov x8, #117 */
	.call.exec_numbers = { { 4, { 0xa8, 0x1b, 0x80, 0xd2 } },   /* mov x8, #221 */
			       { 4, { 0x28, 0x23, 0x80, 0xd2 } } }, /* mov x8, #281 */
	.call.kernel_calls = { { 4, { 0x01, 0x00, 0x00, 0xd4 } } }, /* svc #0 */
	.call.ptracer_option = { 4,
				 { 0x20, 0x2c, 0xab, 0x72 } }, /* movk w0, #0x5961, lsl #16 */
	.call.nr_ptrace = 117,
	.call.regs = { ARM64_X8, 0, 1 },
	.call.nr_births = { 220, 435 },
	/* pselect6, ppoll, waitid, futex, nanosleep, clock_nanosleep, restart_syscall,
	 * rt_sigsuspend, wait4 */
	.call.nr_steady = { 72, 73, 95, 98, 101, 115, 128, 133, 260 },
	.hook.calls = arm64_sigaction_calls,
	.hook.n_calls = ARM64_N_SIGACTION_CALLS,
	.hook.call_len = ARM64_SIGACTION_CALL_LEN,
	.hook.patch_len = ARM64_INSN,
	.hook.call_at = arm64_sigaction_call_at,
	.hook.build = arm64_build_sigaction_hook,
	.call.nr_mmap = 222,
	.call.nr_mprotect = 226,
	.call.nr_read = 63,
	.call.nr_munmap = 215,
	.call.nr_mremap = 216,
	.call.nr_rt_sigaction = 134,
	.call.nr_madvise = 233,
	.call.nr_prctl = 167,
	.call.nr_memfd_create = 279,
	.call.nr_close = 57,
	.lead.find = arm64_find_lead,
	.lead.stands = arm64_lead_stands,
	.detour.build = arm64_build_detour,
	.detour.build_return_code = arm64_build_return_code,
	.detour.check = arm64_detour_check,
};
