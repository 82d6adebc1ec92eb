/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of operations of 32-bit x86. Decoding, slots and windows are those of arch/x86, told
 * that they are for 32 bits; registers have that one's numbers, since a 64-bit kernel hands them out so to a
 * 64-bit tracer. What differs stands here: regs.c the registers, stub.c the remote-call stub, guard.c and guard.S
 * the guard, frame.c stacks, detour*.c what detours do in another way.
 *
 * There is no red zone: a signal's frame may be written right below the stack pointer.
 */

#include <elf.h>
#include <signal.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/i386/detour.h"
#include "arch/i386/frame.h"
#include "arch/i386/guard.h"
#include "arch/i386/regs.h"
#include "arch/i386/stub.h"
#include "arch/i386/thunk.h"
#include "arch/x86/classify.h"
#include "arch/x86/decode.h"
#include "arch/x86/lead.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/slot.h"
#include "arch/x86/stub.h"
#include "arch/x86/window.h"

/* Those of the tracee's kernel: SA_SIGINFO, SA_RESTORER, SA_NODEFER, SA_ONSTACK. */
#define GUARD_FLAGS (0x4 | 0x04000000 | 0x40000000 | 0x08000000)

/* What arch/x86 has, told that the code is for 32 bits. */

static int insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	return x86_len(32, code, len, vaddr);
}

static int analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
			struct displaced_insn *ret_insn, struct ubp_err *err)
{
	return x86_analyze(32, code, len, vaddr, ret_insn, err);
}

static void build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code)
{
	x86_slot_jump(32, slot_vaddr, target, ret_code);
}

static size_t fill_len(const uint8_t *code, size_t len)
{
	return x86_fill(32, code, len);
}

/* A function that reads or takes its return address must not be told of another one. */
static bool find_lead(const uint8_t *code, size_t len, struct lead *ret_lead)
{
	return x86_lead(32, code, len, ret_lead) &&
	       !i386_gives_return(ret_lead->bytes, ret_lead->len);
}

static bool lead_stands(const struct lead *lead, const uint8_t *now)
{
	return x86_lead_stands_in(32, lead, now);
}

static int find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		       struct window *ret_window, struct ubp_err *err)
{
	return x86_window(32, code, len, padding, vaddr, ret_window, err);
}

extern const struct ubp_arch ubp_arch_i386;

const struct ubp_arch ubp_arch_i386 = {
	.name = "i386",
	.e_machine = EM_386,
	.elf_class = ELFCLASS32,
	.addr_size = 4,
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
	.tp = X86_GS_BASE,
	.link = X86_N_REGS,
	.n_dwarf_regs = I386_N_DWARF_REGS,
	.dwarf_regs = i386_dwarf_regs,
	.is_sigreturn = i386_is_sigreturn,
	.sigframe_at = i386_sigframe_at,
	.sigframe_of = i386_sigframe_of,
	/* A displacement wraps around: all there is. */
	.near_max = 0x100000000,
	.reg_by_name = i386_reg_by_name,
	.more_reg_by_name = i386_more_reg_by_name,
	.insn_len = insn_len,
	.analyze_insn = analyze_insn,
	.refuse_return_at = i386_refuse_return_at,
	.takes_return = x86_takes_return,
	.move_insn = x86_move_insn,
	.build_slot = x86_build_slot,
	.is_taken = x86_is_taken,
	.came_by_exception = i386_came_by_exception,
	.looks_done = x86_looks_done,
	.in_other_mode = x86_is_cs_64,
	.slot_leave = x86_slot_leave,
	.build_return_trampoline = i386_build_return_trampoline,
	.way_home = { X86_WAY_HOME },
	.leave_trampoline = i386_leave_trampoline,
	.stub = i386_stub,
	.stub_len = I386_STUB_LEN,
	.stub_syscall_end = I386_STUB_SYSCALL_END,
	.restart_syscall = i386_restart_syscall,
	.stub_frame = i386_stub_frame,
	.stub_buffer_at = I386_STUB_BUFFER_AT,
	.stub_args = i386_stub_args,
	.stub_regs = x86_stub_regs,
	.enter_call = i386_enter_call,
	.syscall_len = 2,
	.syscall_result = i386_syscall_result,
	.nr_mmap = I386_NR_MMAP2,
	.nr_mprotect = I386_NR_MPROTECT,
	.nr_read = I386_NR_READ,
	.nr_munmap = I386_NR_MUNMAP,
	.nr_mremap = I386_NR_MREMAP,
	.nr_rt_sigaction = I386_NR_RT_SIGACTION,
	.nr_madvise = I386_NR_MADVISE,
	.nr_memfd_create = I386_NR_MEMFD_CREATE,
	.nr_close = I386_NR_CLOSE,
	.guard = i386_guard,
	.guard_len = I386_GUARD_LEN,
	.guard_handler = I386_GUARD_HANDLER,
	.guard_restorer = I386_GUARD_RESTORER,
	.guard_flags = GUARD_FLAGS,
	.action_len = 20,
	.pack_action = i386_pack_action,
	.ptrace_number = { 5, { 0xb8, 26 } },                      /* mov $26,%eax */
	.exec_numbers = { { 5, { 0xb8, 11 } },                     /* mov $11,%eax */
			  { 5, { 0xb8, 0x66, 0x01 } } },           /* mov $358,%eax */
	.kernel_calls = { { 7, { 0x65, 0xff, 0x15, 0x10 } },       /* call *%gs:16 */
			  { 2, { 0xcd, 0x80 } } },                 /* int $0x80 */
	.ptracer_option = { 5, { 0x68, 0x61, 0x6d, 0x61, 0x59 } }, /* push $... */
	.nr_ptrace = 26,
	.call_regs = { X86_AX, X86_BX, X86_CX },
	.nr_births = { 2, 190, 120, 435 },
	/* pause, wait4, _newselect, nanosleep, poll, rt_sigsuspend, futex, clock_nanosleep,
	 * waitid, pselect6, ppoll; of wide times: clock_nanosleep, pselect6, ppoll, futex */
	.nr_steady = { 29, 114, 142, 162, 168, 179, 240, 267, 284, 308, 309, 407, 413, 414,
		       422 },
	.sigaction_calls = i386_sigaction_calls,
	.n_sigaction_calls = I386_N_SIGACTION_CALLS,
	.sigaction_call_len = I386_SIGACTION_CALL_LEN,
	.sigaction_patch_len = I386_SIGACTION_PATCH_LEN,
	.sigaction_call_at = i386_sigaction_call_at,
	.build_sigaction_hook = i386_build_sigaction_hook,
	.find_window = find_window,
	.find_lead = find_lead,
	.lead_stands = lead_stands,
	.build_copy = x86_build_copy,
	.copy_leave = x86_copy_leave,
	.build_jump = x86_build_jump,
	.build_slot_jump = build_slot_jump,
	.scan_refs = x86_scan_refs,
	.fill_len = fill_len,
	.build_detour = i386_build_detour,
	.scans = true,
	.build_return_code = i386_build_return_code,
	.detour_check = i386_detour_check,
};
