/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of operations of x86-64.
 *
 * decode.c knows bytes, classify.c decides what may be displaced and how, slot.c
 * writes the code for it, window.c for several under a jump, lead.c tells what stands before that, refs.c looks
 * for who jumps where, stub.c is the remote-call stub, guard.c and guard.S the guard, regs.c the registers,
 * frame.c stacks, run_up.c what runs right before a return, detour*.c and common_detour*.c detours, with the help of emit.c. Functions that are told "bits" do the
 * same for 32-bit programs (arch/i386).
 */

#include <elf.h>

#include "arch/x86/call_kind.h"
#include "arch/x86/classify.h"
#include "arch/x86/common_table.h"
#include "arch/x86/decode.h"
#include "arch/x86/detour.h"
#include "arch/x86/flags.h"
#include "arch/x86/frame.h"
#include "arch/x86/guard.h"
#include "arch/x86/lead.h"
#include "arch/x86/leaf.h"
#include "arch/x86/operand.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/run_up.h"
#include "arch/x86/slot.h"
#include "arch/x86/stub.h"
#include "arch/x86/window.h"

static int operand_parse_place(const char **at, struct operand *operand, struct ubp_err *err)
{
	return x86_operand_parse(true, at, operand, err);
}

static const char *dwarf_register(unsigned number, bool *ret_is_vector)
{
	return x86_dwarf_register(true, number, ret_is_vector);
}

/*
 * The bytes of the jump's distance: the first one's are all those of breakpoints, the others' all but the highest. Those are for
 * programs in low memory: below them, or far above their heap.
 */
static const int64_t mirrors[] = {
	(int32_t)0xcccccccc, (int32_t)0xffcccccc, (int32_t)0xfecccccc, (int32_t)0xfccccccc,
	(int32_t)0xf0cccccc, 0x6ccccccc,          0x4ccccccc,          0,
};

extern const struct ubp_arch ubp_arch_x86_64;

const struct ubp_arch ubp_arch_x86_64 = {
	X86_TABLE,
	.name = "x86_64",
	.e_machine = EM_X86_64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.elf.irelative = R_X86_64_IRELATIVE,
	.elf.jump_slot = R_X86_64_JUMP_SLOT,
	.elf.glob_dat = R_X86_64_GLOB_DAT,
	.elf.features = 0xc0000002, /* GNU_PROPERTY_X86_FEATURE_1_AND */
	.elf.shadow_stack = 2,      /* GNU_PROPERTY_X86_FEATURE_1_SHSTK */
	.elf.has_x87 = true,
	.elf.tls_end = "fs_base",
	.elf.libunwind = "x86_64",
	.operand.parse = operand_parse_place,
	.operand.dwarf_register = dwarf_register,
	.reg.tp = X86_FS_BASE,
	.unwind.n_regs = X86_N_DWARF_REGS,
	.unwind.regs = x86_dwarf_regs,
	.unwind.is_sigreturn = x86_is_sigreturn,
	.unwind.sigframe_at = x86_sigframe_at,
	/* What a 32-bit displacement reaches, less the size of a large object. */
	.near_max = 0x80000000 - 0x4000000,
	.reg.by_name = x86_reg_by_name,
	.reg.more_by_name = x86_more_reg_by_name,
	.reg.returns_in_vector = true,
	.reg.own = ((1U << X86_ORIG_AX) - 1) | 1U << X86_SP | 1U << X86_FLAGS,
	.reg.n_args = 6,
	.reg.args = { X86_DI, X86_SI, X86_DX, X86_CX, X86_R8, X86_R9 },
	.reg.stack_args = 8,
	.insn.len = x86_insn_len,
	.insn.analyze = x86_analyze_insn,
	.reg.came_by_exception = x86_came_by_exception,
	.reg.in_other_mode = x86_in_other_mode,
	.trampoline.build = x86_build_return_trampoline,
	.stub.code = x86_stub,
	.stub.len = X86_STUB_LEN,
	.stub.syscall_end = X86_STUB_SYSCALL_END,
	.call.restart = x86_restart_syscall,
	.stub.frame = x86_stub_frame,
	.stub.buffer_at = X86_STUB_BUFFER_AT,
	.stub.args = x86_stub_args,
	.stub.batch.code = x86_batch,
	.stub.batch.len = X86_BATCH_LEN,
	.stub.batch.made = X86_BATCH_MADE,
	.stub.batch.written = X86_BATCH_WRITTEN,
	.stub.batch.end = X86_BATCH_END,
	.stub.batch.nr_tgkill = 234,
	.call.enter = x86_enter_call,
	.call.result = x86_syscall_result,
	.call.nr_mmap = 9,
	.call.nr_mprotect = 10,
	.call.nr_read = 0,
	.call.nr_munmap = 11,
	.call.nr_mremap = 25,
	.call.nr_rt_sigaction = 13,
	.call.nr_madvise = 28,
	.call.nr_prctl = 157,
	.call.nr_memfd_create = 319,
	.call.nr_close = 3,
	.guard.code = x86_guard,
	.guard.len = X86_GUARD_LEN,
	.guard.handler = GUARD_CODE_HANDLER,
	.guard.restorer = GUARD_CODE_RESTORER,
	.call.ptrace_number = { 5, { 0xb8, 101 } },           /* mov $101,%eax */
	.call.exec_numbers = { { 5, { 0xb8, 59 } },           /* mov $59,%eax */
			       { 5, { 0xb8, 0x42, 0x01 } } }, /* mov $322,%eax */
	.call.birth_numbers = { { 5, { 0xb8, 57 } },          /* the same of .nr_births */
				{ 5, { 0xb8, 58 } },
				{ 5, { 0xb8, 56 } },
				{ 5, { 0xb8, 0xb3, 0x01 } } },
	.call.vfork_begin = { 6, { 0x5f, 0xb8, 58 } },  /* pop %rdi; mov $58,%eax */
	.call.kernel_calls = { { 2, { 0x0f, 0x05 } } }, /* syscall */
	.call.ptracer_option = { 5, { 0xbf, 0x61, 0x6d, 0x61, 0x59 } }, /* mov $...,%edi */
	.call.kind = x86_call_kind,
	.call.nr_ptrace = 101,
	.call.regs = { X86_AX, X86_DI, X86_SI },
	.call.nr_births = { 57, 58, 56, 435 },
	/* poll, select, pause, nanosleep, wait4, rt_sigsuspend, futex, restart_syscall,
	 * clock_nanosleep, waitid, pselect6, ppoll */
	.call.nr_steady = { 7, 23, 34, 35, 61, 130, 202, 219, 230, 247, 270, 271 },
	.hook.calls = x86_sigaction_calls,
	.hook.n_calls = X86_N_SIGACTION_CALLS,
	.hook.call_len = X86_SIGACTION_CALL_LEN,
	.hook.patch_len = X86_SIGACTION_PATCH_LEN,
	.hook.build = x86_build_sigaction_hook,
	.jump.find = x86_find_window,
	.jump.find_short = x86_find_short,
	.jump.mirrors = mirrors,
	.jump.find_punned = x86_find_punned,
	.jump.find_leaf = x86_find_leaf,
	.jump.leaf_ret = { (const uint8_t *)"\xc3", (const uint8_t *)"\xe9", 1 },
	.jump.take_pun = x86_take_pun,
	.jump.runs_anywhere = x86_runs_anywhere,
	.jump.runs_or_faults = x86_runs_or_faults,
	.jump.pun_with = x86_pun_with,
	.jump.build_far = x86_far_jump,
	.lead.find = x86_find_lead,
	.lead.stands = x86_lead_stands,
	.slot.build_jump = x86_build_slot_jump,
	.detour.build = x86_build_detour,
	.detour.alone = true,
	.detour.reads = true,
	.detour.asks = true,
	.detour.tallies = true,
	.detour.samples = true,
	.detour.build_return_code = x86_build_return_code,
	.detour.build_claim_code = x86_build_claim_code,
	.detour.own_ids = { 0x30, 0x2d0 },
	.detour.check = x86_detour_check,
	.insn.has_number_at = x86_has_number_at,
	.insn.only_stores_address = x86_only_stores_address,
	.insn.table_len = x86_table_len,
	.insn.fill_len = x86_fill_len,
	.insn.go_check_len = x86_go_check_len,
	.insn.may_fault = x86_may_fault,
	.insn.ignores_flags = x86_ignores_flags,
};
