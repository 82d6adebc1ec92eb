/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of operations of x86-64.
 *
 * decode.c knows bytes, classify.c decides what may be displaced and how, slot.c
 * writes the code for it, window.c for several under a jump, lead.c tells what stands before that, refs.c looks
 * for who jumps where, stub.c is the remote-call stub, guard.c and guard.S the guard, regs.c the registers,
 * frame.c stacks, detour*.c and common_detour*.c detours, with the help of emit.c. Functions that are told "bits" do the
 * same for 32-bit programs (arch/i386).
 */

#include <elf.h>
#include <signal.h>

#include "arch/x86/classify.h"
#include "arch/x86/decode.h"
#include "arch/x86/detour.h"
#include "arch/x86/frame.h"
#include "arch/x86/guard.h"
#include "arch/x86/lead.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/slot.h"
#include "arch/x86/stub.h"
#include "arch/x86/window.h"

/* Those of the tracee's kernel: SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK. */
#define GUARD_FLAGS (0x4 | 0x04000000 | 0x40000000 | 0x08000000)

extern const struct ubp_arch ubp_arch_x86_64;

const struct ubp_arch ubp_arch_x86_64 = {
	.name = "x86_64",
	.e_machine = EM_X86_64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.insn_align = 1,
	.swbp = { 0xcc },
	.swbp_len = 1,
	.nop = { 0x90 },
	.swbp_pc_advance = 1,
	.swbp_si_code = SI_KERNEL,
	.n_regs = X86_N_REGS,
	.pc = X86_IP,
	.sp = X86_SP,
	.fp = X86_BP,
	.retval = X86_AX,
	.tp = X86_FS_BASE,
	.link = X86_N_REGS,
	.n_dwarf_regs = X86_N_DWARF_REGS,
	.dwarf_regs = x86_dwarf_regs,
	.is_sigreturn = x86_is_sigreturn,
	.sigframe_at = x86_sigframe_at,
	/* What a 32-bit displacement reaches, less the size of a large object. */
	.near_max = 0x80000000 - 0x4000000,
	.reg_by_name = x86_reg_by_name,
	.more_reg_by_name = x86_more_reg_by_name,
	.insn_len = x86_insn_len,
	.analyze_insn = x86_analyze_insn,
	.move_insn = x86_move_insn,
	.build_slot = x86_build_slot,
	.is_taken = x86_is_taken,
	.came_by_exception = x86_came_by_exception,
	.looks_done = x86_looks_done,
	.in_other_mode = x86_in_other_mode,
	.slot_leave = x86_slot_leave,
	.build_return_trampoline = x86_build_return_trampoline,
	.way_home = { X86_WAY_HOME },
	.stub = x86_stub,
	.stub_len = X86_STUB_LEN,
	.stub_syscall_end = X86_STUB_SYSCALL_END,
	.restart_syscall = x86_restart_syscall,
	.stub_frame = x86_stub_frame,
	.stub_buffer_at = X86_STUB_BUFFER_AT,
	.stub_args = x86_stub_args,
	.stub_regs = x86_stub_regs,
	.enter_call = x86_enter_call,
	.syscall_len = 2,
	.syscall_result = x86_syscall_result,
	.nr_mmap = 9,
	.nr_mprotect = 10,
	.nr_read = 0,
	.nr_munmap = 11,
	.nr_mremap = 25,
	.nr_rt_sigaction = 13,
	.nr_madvise = 28,
	.nr_memfd_create = 319,
	.nr_close = 3,
	.guard = x86_guard,
	.guard_len = X86_GUARD_LEN,
	.guard_handler = GUARD_CODE_HANDLER,
	.guard_restorer = GUARD_CODE_RESTORER,
	.guard_flags = GUARD_FLAGS,
	.ptrace_number = { 5, { 0xb8, 101 } },                     /* mov $101,%eax */
	.exec_numbers = { { 5, { 0xb8, 59 } },                     /* mov $59,%eax */
			  { 5, { 0xb8, 0x42, 0x01 } } },           /* mov $322,%eax */
	.kernel_calls = { { 2, { 0x0f, 0x05 } } },                 /* syscall */
	.ptracer_option = { 5, { 0xbf, 0x61, 0x6d, 0x61, 0x59 } }, /* mov $...,%edi */
	.nr_ptrace = 101,
	.call_regs = { X86_AX, X86_DI, X86_SI },
	.nr_births = { 57, 58, 56, 435 },
	/* poll, select, pause, nanosleep, wait4, rt_sigsuspend, futex, restart_syscall,
	 * clock_nanosleep, waitid, pselect6, ppoll */
	.nr_steady = { 7, 23, 34, 35, 61, 130, 202, 219, 230, 247, 270, 271 },
	.sigaction_calls = x86_sigaction_calls,
	.n_sigaction_calls = X86_N_SIGACTION_CALLS,
	.sigaction_call_len = X86_SIGACTION_CALL_LEN,
	.sigaction_patch_len = X86_SIGACTION_PATCH_LEN,
	.build_sigaction_hook = x86_build_sigaction_hook,
	.find_window = x86_find_window,
	.takes_return = x86_takes_return,
	.find_lead = x86_find_lead,
	.lead_stands = x86_lead_stands,
	.build_copy = x86_build_copy,
	.copy_leave = x86_copy_leave,
	.build_jump = x86_build_jump,
	.build_slot_jump = x86_build_slot_jump,
	.build_detour = x86_build_detour,
	.scans = true,
	.build_return_code = x86_build_return_code,
	.detour_check = x86_detour_check,
	.scan_refs = x86_scan_refs,
	.fill_len = x86_fill_len,
	.go_check_len = x86_go_check_len,
};
