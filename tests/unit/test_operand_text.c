/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, as the fetch args that they are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/spec/operand_text.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

/* The probe is at 0x401100, byte 0x1100 of the file. */
#define PROBE_VADDR   0x401100
#define PROBE_FOFFSET 0x1100

static const struct {
	uint16_t machine;
	const char *operand;
	uint64_t symbol;
	bool is_fixed;
	const char *value, *address, *type; /* .type NULL: -ENOTSUP, .value is in the text */
} cases[] = {
	{ EM_X86_64, "8@%rax", 0, false, "%ax", "", "u64" },
	{ EM_X86_64, "-4@%r14d", 0, false, "%r14", "", "s32" },
	{ EM_X86_64, "2@%si", 0, false, "%si", "", "u16" },
	{ EM_X86_64, "-1@%bpl", 0, false, "%bp", "", "s8" },
	{ EM_X86_64, "1@%ah", 0, false, "%ax", "", "b8@8/16" },
	{ EM_X86_64, "-1@%dh", 0, false, "%dx", "", "sb8@8/16" },
	{ EM_X86_64, "8f@%xmm3", 0, false, "%xmm3", "", "f64" },
	{ EM_X86_64, "4f@%xmm0", 0, false, "%xmm0", "", "f32" },
	{ EM_X86_64, "-8@%xmm0", 0, false, "%xmm0", "", "s64" },
	{ EM_X86_64, "8f@%rdx", 0, false, "%dx", "", "f64" },
	{ EM_X86_64, "-4@$5", 0, false, "\\5", "", "s32" },
	{ EM_X86_64, "8@$-1", 0, false, "\\-1", "", "u64" },
	{ EM_X86_64, "8@$0x8000000000000000", 0, false, "\\-9223372036854775808", "", "u64" },
	{ EM_X86_64, "8@$sym+4", 0x404040, true, "\\4210756", "", "u64" },
	{ EM_X86_64, "8@$sym", 0x4040, false, "may be loaded anywhere", "", NULL },
	{ EM_X86_64, "-4@-20(%rbp)", 0, false, "-20(%bp)", "%bp-20", "s32" },
	{ EM_X86_64, "4@(%rax)", 0, false, "+0(%ax)", "%ax", "u32" },
	{ EM_X86_64, "8f@8(%rsp)", 0, false, "+8(%sp)", "%sp+8", "f64" },
	{ EM_X86_64, "4@0x80000000(%rax)", 0, false, "+0(%ax+2147483648)", "%ax+2147483648",
	  "u32" },
	{ EM_X86_64, "4@-0x80000000(%rax)", 0, false, "-2147483648(%ax)", "%ax-2147483648",
	  "u32" },
	{ EM_X86_64, "2@8(%rdi,%r9,2)", 0, false, "+8(%di+%r9*2)", "%di+%r9*2+8", "u16" },
	{ EM_X86_64, "2@(%rdi,%r9)", 0, false, "+0(%di+%r9)", "%di+%r9", "u16" },
	{ EM_X86_64, "2@-1(,%r9,8)", 0, false, "-1(%r9*8)", "%r9*8-1", "u16" },
	{ EM_X86_64, "2@16(,%r9)", 0, false, "+16(%r9)", "%r9+16", "u16" },
	{ EM_X86_64, "4@tab(,%rax,4)", 0x404040, true, "+4210752(%ax*4)", "%ax*4+4210752",
	  "u32" },
	{ EM_X86_64, "4@tab(%rdi)", 0x404040, true, "+4210752(%di)", "%di+4210752", "u32" },
	{ EM_X86_64, "4@tab(,%rax,4)", 0x4040, false, "may be loaded anywhere", "", NULL },
	{ EM_X86_64, "4@sym(%rip)", 0x404040, false, "@+0x4040", "", "u32" },
	{ EM_X86_64, "4@8+sym(%rip)", 0x404040, true, "@+0x4048", "", "u32" },
	{ EM_X86_64, "4@sym", 0x404040, false, "@+0x4040", "", "u32" },
	{ EM_X86_64, "4@sym-8(%rip)", 0x400004, false, "@+-4", "", "u32" },
	{ EM_X86_64, "4@8(%rip)", 0, false, "a distance from an instruction", "", NULL },
	{ EM_X86_64, "4@%fs:8(%rip)", 0, false, "a distance from an instruction", "", NULL },
	{ EM_X86_64, "4@0x404040", 0, false, "@0x404040", "", "u32" },
	{ EM_X86_64, "8@%fs:0", 0, false, "+0(%fs_base)", "%fs_base", "u64" },
	{ EM_X86_64, "4@%fs:x@tpoff+4", (uint64_t)-16, false, "-12(%fs_base)", "%fs_base-12",
	  "u32" },
	{ EM_X86_64, "4@%fs:a@tpoff(,%rax,4)", (uint64_t)-64, false, "-64(%fs_base+%ax*4)",
	  "%fs_base+%ax*4-64", "u32" },
	{ EM_X86_64, "4@%gs:8(%rax)", 0, false, "+8(%gs_base+%ax)", "%gs_base+%ax+8", "u32" },
	{ EM_X86_64, "4@%fs:(%rax,%rcx,4)", 0, false, "three registers", "", NULL },
	{ EM_X86_64, "4@x@tpoff", (uint64_t)-16, false, "without what it counts from", "",
	  NULL },
	{ EM_386, "4@sym@GOTOFF(%ebx)", (uint64_t)-48, false, "-48(%bx)", "%bx-48", "u32" },
	{ EM_386, "4@sym", 0x404040, true, "@+0x4040", "", "u32" },
	{ EM_AARCH64, "-4@w1", 0, false, "%x1", "", "s32" },
	{ EM_AARCH64, "8@[x0, x1, lsl 3]", 0, false, "+0(%x0+%x1*8)", "%x0+%x1*8", "u64" },
	{ EM_AARCH64, "1@[sp, 43]", 0, false, "+43(%sp)", "%sp+43", "u8" },
	{ EM_AARCH64, "4@[x0, #:lo12:sym]", 0x404040, false, "@+0x4040", "", "u32" },
	{ EM_PPC64, "-4@3", 0, false, "%gpr3", "", "s32" },
	{ EM_PPC64, "-4@i5", 0, false, "\\5", "", "s32" },
	{ EM_PPC64, "8@-16(1)", 0, false, "-16(%gpr1)", "%gpr1-16", "u64" },
	{ EM_PPC64, "8@9,10", 0, false, "+0(%gpr9+%gpr10)", "%gpr9+%gpr10", "u64" },
};

static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct operand_context context = {
			.probe_vaddr = PROBE_VADDR,
			.probe_foffset = PROBE_FOFFSET,
			.is_fixed = cases[i].is_fixed,
			.symbol = cases[i].symbol,
		};
		const char *at = cases[i].operand;
		struct operand operand;
		struct operand_text text;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		if (operand_parse(cases[i].machine, &at, &operand, &err) != 0)
			fail_msg("%s: %s", cases[i].operand, err.text);
		rc = operand_fetch_text(&operand, &context, &text, &err);
		if (!cases[i].type) {
			assert_int_equal(rc, -ENOTSUP);
			if (!strstr(err.text, cases[i].value))
				fail_msg("%s: %s", cases[i].operand, err.text);
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", cases[i].operand, err.text);
		assert_string_equal(text.value, cases[i].value);
		assert_string_equal(text.address, cases[i].address);
		assert_string_equal(text.type, cases[i].type);
	}
}

/* However long the numbers are. */
static void test_longest(void **state)
{
	const char *at = "8@%fs:x@tpoff-0x7fffffffffffffff(,%r15,8)";
	struct operand_context context = { .symbol = 0 };
	struct operand operand;
	struct operand_text text;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(operand_parse(EM_X86_64, &at, &operand, &err), 0);
	assert_int_equal(operand_fetch_text(&operand, &context, &text, &err), 0);
	assert_string_equal(text.value, "+0(%fs_base+%r15*8-9223372036854775807)");
	assert_string_equal(text.address, "%fs_base+%r15*8-9223372036854775807");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
