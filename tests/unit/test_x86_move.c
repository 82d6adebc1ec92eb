/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A decoded instruction at another address is as if it had been decoded there. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "arch/x86/classify.h"
#include "engine/base/err.h"

static const struct {
	const char *what;
	uint8_t code[UBP_INSN_MAX];
} insns[] = {
	{ "push %rbp", { 0x55 } },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa } },
	{ "mov 0x10(%rip),%rax", { 0x48, 0x8b, 0x05, 0x10 } },
	{ "lea -0x10(%rip),%rdi", { 0x48, 0x8d, 0x3d, 0xf0, 0xff, 0xff, 0xff } },
	{ "mov 0x10(%eip),%eax", { 0x67, 0x8b, 0x05, 0x10 } },
	{ "jmp short, back", { 0xeb, 0x80 } },
	{ "jmp", { 0xe9, 0x00, 0x10, 0x20, 0x00 } },
	{ "jne", { 0x0f, 0x85, 0x00, 0xff, 0xff, 0xff } },
	{ "call", { 0xe8, 0x78, 0x56, 0x34, 0x12 } },
	{ "call *0x10(%rip)", { 0xff, 0x15, 0x10 } },
	{ "loop", { 0xe2, 0xfe } },
	{ "jecxz", { 0x67, 0xe3, 0x10 } },
	{ "ret", { 0xc3 } },
	{ "syscall", { 0x0f, 0x05 } },
};

static const uint64_t places[] = { 0x1000, 0x7fff00001234, 0x401000, 0x7fffffff };

static void test_move(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		for (size_t k = 0; k + 1 < sizeof(places) / sizeof(places[0]); k++) {
			struct displaced_insn moved, want;
			struct ubp_err err;

			assert_int_equal(x86_analyze_insn(insns[i].code, UBP_INSN_MAX,
							  places[k], &moved, &err),
					 0);
			assert_int_equal(x86_analyze_insn(insns[i].code, UBP_INSN_MAX,
							  places[k + 1], &want, &err),
					 0);
			x86_move_insn(&moved, places[k + 1]);
			if (memcmp(&moved, &want, sizeof(want)) != 0)
				fail_msg("%s, moved from 0x%lx: target 0x%lx, not 0x%lx",
					 insns[i].what, (unsigned long)places[k],
					 (unsigned long)moved.target,
					 (unsigned long)want.target);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_move) };

	return cmocka_run_group_tests_name("x86_move", tests, NULL, NULL);
}
