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
#include <string.h>

#include "arch/detour.h"
#include "arch/i386/detour.h"
#include "arch/i386/frame.h"
#include "arch/i386/guard.h"
#include "arch/i386/regs.h"
#include "arch/i386/stub.h"
#include "arch/i386/thunk.h"
#include "arch/x86/classify.h"
#include "arch/x86/common_table.h"
#include "arch/x86/decode.h"
#include "arch/x86/lead.h"
#include "arch/x86/operand.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/slot.h"
#include "arch/x86/stub.h"
#include "arch/x86/window.h"

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

static int find_short(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		      struct window *ret_window, struct ubp_err *err)
{
	return x86_short_window(32, code, len, padding, vaddr, ret_window, err);
}

static int operand_parse_place(const char **at, struct operand *operand, struct ubp_err *err)
{
	return x86_operand_parse(false, at, operand, err);
}

static const char *dwarf_register(unsigned number, bool *ret_is_vector)
{
	return x86_dwarf_register(false, number, ret_is_vector);
}

/* As those of x86-64, downwards: above there may be nothing that a program of 32 bits can have. */
static const int64_t mirrors[] = { (int32_t)0xcccccccc, (int32_t)0xffcccccc, 0 };

extern const struct ubp_arch ubp_arch_i386;

const struct ubp_arch ubp_arch_i386 = {
	X86_TABLE,
	.name = "i386",
	.e_machine = EM_386,
	.elf_class = ELFCLASS32,
	.addr_size = 4,
	.elf.irelative = R_386_IRELATIVE,
	.elf.jump_slot = R_386_JMP_SLOT,
	.elf.glob_dat = R_386_GLOB_DAT,
	.elf.counts_from_got = true,
	.elf.has_x87 = true,
	.elf.tls_end = "gs_base",
	.elf.libunwind = "x86",
	.operand.parse = operand_parse_place,
	.operand.dwarf_register = dwarf_register,
	.reg.tp = X86_GS_BASE,
	.unwind.n_regs = I386_N_DWARF_REGS,
	.unwind.regs = i386_dwarf_regs,
	.unwind.is_sigreturn = i386_is_sigreturn,
	.unwind.sigframe_at = i386_sigframe_at,
	.unwind.sigframe_of = i386_sigframe_of,
	/* A displacement wraps around: all there is. */
	.near_max = 0x100000000,
	.reg.by_name = i386_reg_by_name,
	.reg.more_by_name = i386_more_reg_by_name,
	.reg.own = 1U << X86_AX | 1U << X86_BX | 1U << X86_CX | 1U << X86_DX | 1U << X86_SI |
		   1U << X86_DI | 1U << X86_BP | 1U << X86_SP | 1U << X86_FLAGS,
	.reg.stack_args = 4,
	.insn.len = insn_len,
	.insn.analyze = analyze_insn,
	.insn.refuse_return_at = i386_refuse_return_at,
	.reg.came_by_exception = i386_came_by_exception,
	.reg.in_other_mode = x86_is_cs_64,
	.trampoline.build = i386_build_return_trampoline,
	.trampoline.leave = i386_leave_trampoline,
	.stub.code = i386_stub,
	.stub.len = I386_STUB_LEN,
	.stub.syscall_end = I386_STUB_SYSCALL_END,
	.call.restart = i386_restart_syscall,
	.stub.frame = i386_stub_frame,
	.stub.buffer_at = I386_STUB_BUFFER_AT,
	.stub.args = i386_stub_args,
	.call.enter = i386_enter_call,
	.call.result = i386_syscall_result,
	.call.nr_mmap = I386_NR_MMAP2,
	.call.nr_mprotect = I386_NR_MPROTECT,
	.call.nr_read = I386_NR_READ,
	.call.nr_munmap = I386_NR_MUNMAP,
	.call.nr_mremap = I386_NR_MREMAP,
	.call.nr_rt_sigaction = I386_NR_RT_SIGACTION,
	.call.nr_madvise = I386_NR_MADVISE,
	.call.nr_prctl = I386_NR_PRCTL,
	.call.nr_memfd_create = I386_NR_MEMFD_CREATE,
	.call.nr_close = I386_NR_CLOSE,
	.guard.code = i386_guard,
	.guard.len = I386_GUARD_LEN,
	.guard.handler = I386_GUARD_HANDLER,
	.guard.restorer = I386_GUARD_RESTORER,
	.guard.action_len = 20,
	.guard.pack_action = i386_pack_action,
	.call.ptrace_number = { 5, { 0xb8, 26 } },            /* mov $26,%eax */
	.call.exec_numbers = { { 5, { 0xb8, 11 } },           /* mov $11,%eax */
			       { 5, { 0xb8, 0x66, 0x01 } } }, /* mov $358,%eax */
	.call.birth_numbers = { { 5, { 0xb8, 2 } },           /* the same of .nr_births */
				{ 5, { 0xb8, 190 } },
				{ 5, { 0xb8, 120 } },
				{ 5, { 0xb8, 0xb3, 0x01 } } },
	.call.vfork_begin = { 6, { 0x59, 0xb8, 190 } },           /* pop %ecx; mov $190,%eax */
	.call.kernel_calls = { { 7, { 0x65, 0xff, 0x15, 0x10 } }, /* call *%gs:16 */
			       { 2, { 0xcd, 0x80 } } },           /* int $0x80 */
	.call.ptracer_option = { 5, { 0x68, 0x61, 0x6d, 0x61, 0x59 } }, /* push $... */
	.call.nr_ptrace = 26,
	.call.regs = { X86_AX, X86_BX, X86_CX },
	.call.nr_births = { 2, 190, 120, 435 },
	/* pause, wait4, _newselect, nanosleep, poll, rt_sigsuspend, futex, clock_nanosleep,
	 * waitid, pselect6, ppoll; of wide times: clock_nanosleep, pselect6, ppoll, futex */
	.call.nr_steady = { 29, 114, 142, 162, 168, 179, 240, 267, 284, 308, 309, 407, 413, 414,
			    422 },
	.hook.calls = i386_sigaction_calls,
	.hook.n_calls = I386_N_SIGACTION_CALLS,
	.hook.call_len = I386_SIGACTION_CALL_LEN,
	.hook.patch_len = I386_SIGACTION_PATCH_LEN,
	.hook.call_at = i386_sigaction_call_at,
	.hook.build = i386_build_sigaction_hook,
	.jump.find = find_window,
	.jump.mirrors = mirrors,
	.jump.find_short = find_short,
	.lead.find = find_lead,
	.lead.stands = lead_stands,
	.slot.build_jump = build_slot_jump,
	.insn.has_number_at = x86_has_number_at,
	.insn.fill_len = fill_len,
	.detour.build = i386_build_detour,
	.detour.alone = true,
	.detour.asks = true,
	.detour.build_return_code = i386_build_return_code,
	.detour.build_claim_code = i386_build_claim_code,
	.detour.own_ids = { 0x18, 0x68 },
	.detour.check = i386_detour_check,
};
