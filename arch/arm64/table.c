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
#include "arch/arm64/refs.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/sign.h"
#include "arch/arm64/slot.h"
#include "arch/arm64/stub.h"
#include "arch/arm64/window.h"

/* Those of the tracee's kernel: SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK. */
#define GUARD_FLAGS (0x4 | 0x04000000 | 0x40000000 | 0x08000000)

const struct ubp_arch ubp_arch_arm64 = {
	.name = "arm64",
	.e_machine = EM_AARCH64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.torn_max = 1,
	.insn_align = ARM64_INSN,
	/* ARM64_SWBP */
	.swbp = { 0x40, 0xac, 0x2e, 0xd4 },
	.swbp_len = ARM64_INSN,
	.nop = { 0x1f, 0x20, 0x03, 0xd5 },
	.swbp_pc_advance = 0,
	.swbp_si_code = 1, /* TRAP_BRKPT */
	.n_regs = ARM64_N_REGS,
	.pc = ARM64_PC,
	.sp = ARM64_SP,
	.fp = ARM64_X29,
	.retval = ARM64_X0,
	.tp = ARM64_TP,
	.tag_mask = UINT64_C(0xff) << 56,
	.link = ARM64_X30,
	.n_dwarf_regs = ARM64_N_DWARF_REGS,
	.dwarf_regs = arm64_dwarf_regs,
	.is_sigreturn = arm64_is_sigreturn,
	.sigframe_at = arm64_sigframe_at,
	/* What a branch reaches: within as much of one object and its area, all is in reach. */
	.near_max = ARM64_B_REACH - 0x1000,
	.reg_by_name = arm64_reg_by_name,
	.more_reg_by_name = arm64_more_reg_by_name,
	.insn_len = arm64_insn_len,
	.analyze_insn = arm64_analyze_insn,
	.refuse_at = arm64_refuse_at,
	.refuse_return_at = arm64_refuse_return_at,
	.move_insn = arm64_move_insn,
	.build_slot = arm64_build_slot,
	.is_taken = arm64_is_taken,
	.slot_leave = arm64_slot_leave,
	.build_return_trampoline = arm64_build_return_trampoline,
	.way_home = { 0x1f, 0x20, 0x03, 0xd5 }, /* a nop: the jump there is next */
	.leave_trampoline = arm64_leave_trampoline,
	.find_window = arm64_find_window,
	.is_landing_pad = arm64_is_landing_pad,
	.build_copy = arm64_build_copy,
	.copy_leave = arm64_copy_leave,
	.build_slot_jump = arm64_build_slot_jump,
	.build_jump = arm64_build_jump,
	.scan_refs = arm64_scan_refs,
	.fill_len = arm64_fill_len,
	.go_check_len = arm64_go_check_len,
	.came_by_exception = arm64_came_by_exception,
	.stub = arm64_stub,
	.stub_len = ARM64_STUB_LEN,
	.stub_syscall_end = ARM64_STUB_SYSCALL_END,
	.restart_syscall = arm64_restart_syscall,
	.may_resume = arm64_may_resume,
	.call_reg = ARM64_X8,
	.nr_restart_syscall = 128,
	.stub_frame = arm64_stub_frame,
	.stub_frame_below = arm64_stub_frame_below,
	.stub_buffer_at = ARM64_STUB_BUFFER_AT,
	.stub_args = arm64_stub_args,
	.stub_regs = arm64_stub_regs,
	.stub_sign = arm64_stub_sign,
	.enter_call = arm64_enter_call,
	.syscall_len = 4,
	.syscall_result = arm64_syscall_result,
	.guard = arm64_guard,
	.guard_len = ARM64_GUARD_LEN,
	.guard_handler = ARM64_GUARD_HANDLER,
	.guard_restorer = ARM64_GUARD_RESTORER,
	.guard_flags = GUARD_FLAGS,
	.ptrace_number = { 4, { 0xa8, 0x0e, 0x80, 0xd2 } },    /* mov x8, #117 */
	.exec_numbers = { { 4, { 0xa8, 0x1b, 0x80, 0xd2 } },   /* mov x8, #221 */
			  { 4, { 0x28, 0x23, 0x80, 0xd2 } } }, /* mov x8, #281 */
	.kernel_calls = { { 4, { 0x01, 0x00, 0x00, 0xd4 } } }, /* svc #0 */
	.ptracer_option = { 4, { 0x20, 0x2c, 0xab, 0x72 } },   /* movk w0, #0x5961, lsl #16 */
	.nr_ptrace = 117,
	.call_regs = { ARM64_X8, 0, 1 },
	.nr_births = { 220, 435 },
	/* pselect6, ppoll, waitid, futex, nanosleep, clock_nanosleep, restart_syscall,
	 * rt_sigsuspend, wait4 */
	.nr_steady = { 72, 73, 95, 98, 101, 115, 128, 133, 260 },
	.sigaction_calls = arm64_sigaction_calls,
	.n_sigaction_calls = ARM64_N_SIGACTION_CALLS,
	.sigaction_call_len = ARM64_SIGACTION_CALL_LEN,
	.sigaction_patch_len = ARM64_INSN,
	.sigaction_call_at = arm64_sigaction_call_at,
	.build_sigaction_hook = arm64_build_sigaction_hook,
	.nr_mmap = 222,
	.nr_mprotect = 226,
	.nr_read = 63,
	.nr_munmap = 215,
	.nr_mremap = 216,
	.nr_rt_sigaction = 134,
	.nr_madvise = 233,
	.nr_memfd_create = 279,
	.nr_close = 57,
	.find_lead = arm64_find_lead,
	.lead_stands = arm64_lead_stands,
	.build_detour = arm64_build_detour,
	.build_return_code = arm64_build_return_code,
	.detour_check = arm64_detour_check,
};
