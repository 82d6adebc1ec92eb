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
#include "arch/ppc64el/refs.h"
#include "arch/ppc64el/regs.h"
#include "arch/ppc64el/slot.h"
#include "arch/ppc64el/window.h"

/* Without its host half: files are read, programs are not traced. */
const struct ubp_arch ubp_arch_ppc64el = {
	.name = "ppc64el",
	/* Big-endian files have the same: the header's byte order tells. */
	.e_machine = EM_PPC64,
	.elf_class = ELFCLASS64,
	.addr_size = 8,
	.insn_align = PPC64EL_INSN,
	/* PPC64EL_SWBP */
	.swbp = { 0x08, 0x00, 0xe0, 0x7f },
	.swbp_len = PPC64EL_INSN,
	.nop = { 0x00, 0x00, 0x00, 0x60 },
	.swbp_pc_advance = 0,
	.swbp_si_code = 1, /* TRAP_BRKPT */
	.n_regs = PPC64EL_N_REGS,
	.pc = PPC64EL_NIP,
	.sp = PPC64EL_R1,
	.fp = PPC64EL_R31,
	.retval = PPC64EL_R3,
	.tp = PPC64EL_R13,
	.link = PPC64EL_LR,
	.n_dwarf_regs = PPC64EL_N_DWARF_REGS,
	.dwarf_regs = ppc64el_dwarf_regs,
	.is_sigreturn = ppc64el_is_sigreturn,
	.sigframe_at = ppc64el_sigframe_at,
	.sigframe_of = ppc64el_sigframe_of,
	/* What a branch reaches: within as much of one object and its area, all is in reach. */
	.near_max = PPC64EL_B_REACH - 0x1000,
	.entry_off = ppc64el_entry_off,
	.reg_by_name = ppc64el_reg_by_name,
	.more_reg_by_name = ppc64el_more_reg_by_name,
	.insn_len = ppc64el_insn_len,
	.analyze_insn = ppc64el_analyze_insn,
	.refuse_at = ppc64el_refuse_at,
	.move_insn = ppc64el_move_insn,
	.build_slot = ppc64el_build_slot,
	.is_taken = ppc64el_is_taken,
	.slot_leave = ppc64el_slot_leave,
	.find_window = ppc64el_find_window,
	.build_copy = ppc64el_build_copy,
	.copy_leave = ppc64el_copy_leave,
	.build_slot_jump = ppc64el_build_slot_jump,
	.build_jump = ppc64el_build_jump,
	.scan_refs = ppc64el_scan_refs,
	.fill_len = ppc64el_fill_len,
	.go_check_len = ppc64el_go_check_len,
};
