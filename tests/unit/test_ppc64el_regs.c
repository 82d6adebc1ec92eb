/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names and numbers of registers, frames of signals, entries of functions. Pure: any host. */

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"
#include "tests/unit/ppc64el_words.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static int by_name(const char *name)
{
	return p64_arch()->reg.by_name(name, strlen(name));
}

static void test_names(void **state)
{
	/* By the place in struct pt_regs. */
	static const struct {
		const char *name;
		int reg;
	} all[] = {
		{ "gpr0", 0 },   { "gpr1", 1 }, { "gpr9", 9 },   { "gpr10", 10 },
		{ "gpr31", 31 }, { "nip", 32 }, { "msr", 33 },   { "ctr", 35 },
		{ "link", 36 },  { "xer", 37 }, { "ccr", 38 },   { "softe", 39 },
		{ "trap", 40 },  { "dar", 41 }, { "dsisr", 42 },
	};
	/* What the kernel does not have. */
	static const char *const none[] = { "",      "gpr",       "gpr32",  "gpr00", "gpr01",
					    "gpr1 ", "r3",        "lr",     "cr",    "pc",
					    "sp",    "orig_gpr3", "result", "nip2",  "GPR3",
					    "f1",    "gpr-1",     "gpr031" };

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++)
		assert_int_equal(by_name(all[i].name), all[i].reg);
	for (size_t i = 0; i < N_ELEMS(none); i++)
		assert_int_equal(by_name(none[i]), -1);
	assert_int_equal(p64_arch()->reg.more_by_name("f0", 2), UBP_REG_VECTOR);
	assert_int_equal(p64_arch()->reg.more_by_name("f31", 3), UBP_REG_VECTOR + 31);
	assert_int_equal(p64_arch()->reg.more_by_name("f32", 3), -1);
}

static void test_table(void **state)
{
	const struct ubp_arch *arch = p64_arch();

	(void)state;
	assert_ptr_equal(ubp_arch_find(EM_PPC64, ELFCLASS64), arch);
	assert_true(arch->reg.n <= UBP_REGS_MAX && arch->unwind.n_regs <= UBP_DWARF_REGS_MAX);
	assert_int_equal(arch->return_in, RETURN_IN_REGISTER);
	assert_int_equal(insn_word(arch->swbp.code), 0x7fe00008);
	assert_int_equal(insn_word(arch->swbp.nop), 0x60000000);
	assert_int_equal(arch->insn.fill_len(arch->swbp.nop, 4), 4);
	assert_int_equal(arch->insn.fill_len(arch->swbp.code, 4), 4);
}

/* Unwinding finds them by DWARF's numbers: all that it needs has one, and no two have one. */
static void test_dwarf(void **state)
{
	const struct ubp_arch *arch = p64_arch();
	unsigned n[PPC64EL_N_REGS + 1] = { 0 };

	(void)state;
	for (unsigned i = 0; i < arch->unwind.n_regs; i++)
		n[arch->unwind.regs[i]]++;
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(arch->unwind.regs[i], i);
	assert_int_equal(arch->unwind.regs[65], arch->reg.link);
	assert_int_equal(n[arch->reg.pc], 1);
	assert_int_equal(n[arch->reg.link], 1);
	assert_int_equal(n[PPC64EL_N_REGS], 32);
}

/* Of both kernels' trampolines: the frame below is there still, or has gone. */
static void test_sigreturn(void **state)
{
	const struct ubp_arch *arch = p64_arch();
	uint8_t code[16];
	size_t len = p64_parse("38210080 380000ac 44000002", code);

	(void)state;
	assert_true(arch->unwind.is_sigreturn(code, len));
	assert_int_equal(arch->unwind.sigframe_of(code, len)[0], 128 + 232);
	assert_true(arch->unwind.is_sigreturn(code + 4, len - 4));
	assert_int_equal(arch->unwind.sigframe_of(code + 4, len - 4)[0], 232);
	assert_int_equal(arch->unwind.sigframe_of(code + 4, len - 4)[65], 232 + 8 * 36);
	assert_int_equal(arch->unwind.sigframe_of(code + 4, len - 4)[64], 232 + 8 * 32);
	assert_false(arch->unwind.is_sigreturn(code, len - 1));
	code[4] = 0x77; /* sigreturn */
	assert_false(arch->unwind.is_sigreturn(code, len));
}

static void test_entry_off(void **state)
{
	static const uint8_t off[] = { 0, 0, 4, 8, 16, 32, 64, 0 };

	(void)state;
	for (unsigned i = 0; i < N_ELEMS(off); i++) {
		assert_int_equal(p64_arch()->entry_off((uint8_t)(i << 5)), off[i]);
		assert_int_equal(p64_arch()->entry_off((uint8_t)(i << 5 | 3)), off[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),     cmocka_unit_test(test_table),
		cmocka_unit_test(test_dwarf),     cmocka_unit_test(test_sigreturn),
		cmocka_unit_test(test_entry_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
