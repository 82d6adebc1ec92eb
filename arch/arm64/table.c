/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/arm64/arm64.h"

#include <elf.h>

extern const struct ubp_arch ubp_arch_arm64;

const struct ubp_arch ubp_arch_arm64 = {
	.name = "arm64",
	.e_machine = EM_AARCH64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
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
	.move_insn = arm64_move_insn,
	.build_slot = arm64_build_slot,
	.is_taken = arm64_is_taken,
	.slot_leave = arm64_slot_leave,
	.build_return_trampoline = arm64_build_return_trampoline,
	.find_window = arm64_find_window,
	.build_copy = arm64_build_copy,
	.copy_leave = arm64_copy_leave,
	.build_slot_jump = arm64_build_slot_jump,
	.build_jump = arm64_build_jump,
	.scan_refs = arm64_scan_refs,
	.fill_len = arm64_fill_len,
	.go_check_len = arm64_go_check_len,
};
