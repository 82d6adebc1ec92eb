/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The table of operations of ppc64el: POWER, 64 bits, little endian, ELFv2. What there is so
 * far is pure; threads of such programs can't be traced yet.
 *
 * decode.c knows bits, text.c words, classify.c decides what may be displaced and how,
 * exclusive.c where, slot.c writes the code for it, window.c for what stands under a jump,
 * refs.c looks for who jumps where, regs.c and frame.c have the registers.
 */

#include <elf.h>

#include "arch/ppc64el/classify.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/exclusive.h"
#include "arch/ppc64el/frame.h"
#include "arch/ppc64el/operand.h"
#include "arch/ppc64el/refs.h"
#include "arch/ppc64el/regs.h"
#include "arch/ppc64el/slot.h"
#include "arch/ppc64el/text.h"
#include "arch/ppc64el/window.h"

/* Without its host half: files are read, programs are not traced. */
const struct ubp_arch ubp_arch_ppc64el = {
	.name = "ppc64el",
	/* Big-endian files have the same: the header's byte order tells. */
	.e_machine = EM_PPC64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.insn.align = PPC64EL_INSN,
	/* PPC64EL_SWBP */
	.swbp.code = { 0x08, 0x00, 0xe0, 0x7f },
	.swbp.len = PPC64EL_INSN,
	.swbp.nop = { 0x00, 0x00, 0x00, 0x60 },
	.swbp.pc_advance = 0,
	.swbp.si_code = 1, /* TRAP_BRKPT */
	.elf.irelative = R_PPC64_IRELATIVE,
	.elf.jump_slot = R_PPC64_JMP_SLOT,
	.elf.glob_dat = R_PPC64_GLOB_DAT,
	.elf.libunwind = "ppc64",
	.operand.parse = ppc64el_operand_parse,
	.operand.dwarf_register = ppc64el_dwarf_register,
	.reg.n = PPC64EL_N_REGS,
	.reg.pc = PPC64EL_NIP,
	.reg.sp = PPC64EL_R1,
	.reg.fp = PPC64EL_R31,
	.reg.retval = PPC64EL_R3,
	.reg.tp = PPC64EL_R13,
	.reg.link = PPC64EL_LR,
	.reg.own = (((UINT64_C(1) << PPC64EL_NIP) - 1) & ~(UINT64_C(1) << PPC64EL_R13)) |
		   UINT64_C(1) << PPC64EL_CTR | UINT64_C(1) << PPC64EL_LR |
		   UINT64_C(1) << PPC64EL_XER | UINT64_C(1) << PPC64EL_CCR,
	.reg.flags = PPC64EL_CCR,
	.reg.flags_own = UINT32_MAX,
	.reg.n_args = 8,
	.reg.args = { 3, 4, 5, 6, 7, 8, 9, 10 },
	.reg.stack_args = -1,
	.return_in = RETURN_IN_REGISTER,
	.unwind.n_regs = PPC64EL_N_DWARF_REGS,
	.unwind.regs = ppc64el_dwarf_regs,
	.unwind.is_sigreturn = ppc64el_is_sigreturn,
	.unwind.sigframe_at = ppc64el_sigframe_at,
	.unwind.sigframe_of = ppc64el_sigframe_of,
	/* What a branch reaches: within as much of one object and its area, all is in reach. */
	.near_max = PPC64EL_B_REACH - 0x1000,
	.entry_off = ppc64el_entry_off,
	.reg.by_name = ppc64el_reg_by_name,
	.reg.name = ppc64el_reg_name,
	.reg.more_by_name = ppc64el_more_reg_by_name,
	.insn.len = ppc64el_insn_len,
	.insn.analyze = ppc64el_analyze_insn,
	.insn.refuse_at = ppc64el_refuse_at,
	.insn.move = ppc64el_move_insn,
	.insn.text = ppc64el_insn_text,
	.slot.build = ppc64el_build_slot,
	.insn.is_taken = ppc64el_is_taken,
	.slot.leave = ppc64el_slot_leave,
	.jump.find = ppc64el_find_window,
	.jump.build_copy = ppc64el_build_copy,
	.jump.copy_leave = ppc64el_copy_leave,
	.slot.build_jump = ppc64el_build_slot_jump,
	.jump.build = ppc64el_build_jump,
	.insn.scan_refs = ppc64el_scan_refs,
	.insn.fill_len = ppc64el_fill_len,
	.insn.go_check_len = ppc64el_go_check_len,
};
