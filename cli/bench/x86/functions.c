/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions that ubp-bench probes: one for each kind of first instruction. */

#include <cpuid.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#include <asm/perf_regs.h>

#include "cli/bench/work.h"

/* Far from each other, and from what bytes elsewhere happen to read as branches to. The frame information tells where instructions
 * start, should this program be stripped. */
#define WORK(name, first)                                                                      \
	bench_function bench_##name;                                                           \
	__asm__(".text\n.balign 256\n.globl bench_" #name "\n.type bench_" #name               \
		", @function\nbench_" #name ":\n.cfi_startproc\n" first                        \
		"\n ret\n.cfi_endproc\n.size bench_" #name ", . - bench_" #name "\n")

WORK(push, "push %rbp\n.cfi_adjust_cfa_offset 8\n lea 1(%rdi), %rax\n"
	   " pop %rbp\n.cfi_adjust_cfa_offset -8");
WORK(nop, "nop\n lea 1(%rdi), %rax");
WORK(nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0\n lea 1(%rdi), %rax");
WORK(endbr64, "endbr64\n lea 1(%rdi), %rax");
WORK(mov, "mov $1, %eax\n add %rdi, %rax");

const struct bench_first bench_firsts[] = {
	{ "push", bench_push, true },  { "nop", bench_nop, false },
	{ "nop5", bench_nop5, false }, { "endbr64", bench_endbr64, true },
	{ "mov", bench_mov, false },   { NULL, NULL, false },
};

const char bench_arg_int[] = "a=%di:s64";
const char bench_arg_string[] = "s=+0(%si):string";
const char bench_arg_return[] = "r=$retval:s64";

const unsigned bench_perf_reg_int = PERF_REG_X86_DI;
const unsigned bench_perf_reg_return = PERF_REG_X86_AX;

bool bench_hypervisor(char ret_name[13])
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1U << 31))
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(ret_name, &b, 4);
	memcpy(ret_name + 4, &c, 4);
	memcpy(ret_name + 8, &d, 4);
	ret_name[12] = '\0';
	return true;
}
