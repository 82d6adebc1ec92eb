/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions that ubp-bench probes: one for each kind of first instruction. */

#include <linux/perf_event.h>
#include <string.h>

#include <asm/perf_regs.h>

#include "cli/bench/work.h"

/* Far from each other. The frame information tells where functions are, should this program be
 * stripped. */
#define WORK(name, first)                                                                      \
	bench_function bench_##name;                                                           \
	__asm__(".text\n.balign 256\n.globl bench_" #name "\n.type bench_" #name               \
		", @function\nbench_" #name ":\n.cfi_startproc\n" first                        \
		"\n ret\n.cfi_endproc\n.size bench_" #name ", . - bench_" #name "\n")

WORK(push, "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n"
	   ".cfi_offset 30, -8\n add x0, x0, #1\n ldp x29, x30, [sp], #16\n"
	   ".cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0");
WORK(nop, "nop\n add x0, x0, #1");
WORK(bti, "hint #34\n add x0, x0, #1"); /* bti c */
WORK(paciasp, "hint #25\n.cfi_negate_ra_state\n add x0, x0, #1\n"
	      " hint #29\n.cfi_negate_ra_state"); /* paciasp, autiasp */
WORK(mov, "mov x2, #1\n add x0, x0, x2");

const struct bench_first bench_firsts[] = {
	{ "push", bench_push, true }, { "nop", bench_nop, false },
	{ "bti", bench_bti, false },  { "paciasp", bench_paciasp, true },
	{ "mov", bench_mov, false },  { NULL, NULL, false },
};

const char bench_arg_int[] = "a=%x0:s64";
const char bench_arg_string[] = "s=+0(%x1):string";
const char bench_arg_return[] = "r=$retval:s64";

const unsigned bench_perf_reg_int = PERF_REG_ARM64_X0;
const unsigned bench_perf_reg_return = PERF_REG_ARM64_X0;

/* Programs can't ask for it here. */
bool bench_hypervisor(char ret_name[13])
{
	memset(ret_name, 0, 13);
	return false;
}
