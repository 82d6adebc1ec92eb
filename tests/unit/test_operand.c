/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, for each machine, and DWARF's registers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/base/err.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

struct good {
	const char *text;
	struct operand operand; /* .symbol: compared by its text */
};

struct bad {
	const char *text;
	size_t at;           /* where it stops making sense */
	const char *message; /* or what is in it */
};

#define IMM(n, s, v)                                                                           \
	{                                                                                      \
		.kind = OPERAND_IMM, .size = (n), .is_signed = (s), .disp = (v)                \
	}
#define REG(n, s, r, b)                                                                        \
	{                                                                                      \
		.kind = OPERAND_REG, .size = (n), .is_signed = (s), .base = (r),               \
		.reg_bits = (b)                                                                \
	}
/* MEM(size, signed, .base = "bp", ...) */
#define MEM(n, s, ...)                                                                         \
	{                                                                                      \
		.kind = OPERAND_MEMORY, .size = (n), .is_signed = (s), __VA_ARGS__             \
	}
#define SYM(s) .symbol = (s), .symbol_len = sizeof(s) - 1

static const struct good x86_64_good[] = {
	{ "-4@$0", IMM(4, true, 0) },
	{ "8@$1234", IMM(8, false, 1234) },
	{ "-4@$-1", IMM(4, true, -1) },
	{ "2@$0x10", IMM(2, false, 16) },
	{ "1@$010", IMM(1, false, 8) },
	{ "8@$18446744073709551615", IMM(8, false, -1) },
	{ "8@$-8+16", IMM(8, false, 8) },
	{ "$5", IMM(8, false, 5) },
	{ "8@$sym", { .kind = OPERAND_IMM, .size = 8, SYM("sym") } },
	{ "8@$sym+4", { .kind = OPERAND_IMM, .size = 8, SYM("sym"), .disp = 4 } },
	{ "8f@$0", { .kind = OPERAND_IMM, .size = 8, .is_float = true } },
	{ "8@%rax", REG(8, false, "ax", 64) },
	{ "-8@%rbx", REG(8, true, "bx", 64) },
	{ "%rdi", REG(8, false, "di", 64) },
	{ "%esi", REG(4, false, "si", 32) },
	{ "%cx", REG(2, false, "cx", 16) },
	{ "%dl", REG(1, false, "dx", 8) },
	{ "4@%r12", REG(4, false, "r12", 64) },
	{ "-4@%eax", REG(4, true, "ax", 32) },
	{ "-4@%ax", REG(4, true, "ax", 16) },
	{ "2@%ax", REG(2, false, "ax", 16) },
	{ "1@%al", REG(1, false, "ax", 8) },
	{ "-1@%sil", REG(1, true, "si", 8) },
	{ "1@%dil", REG(1, false, "di", 8) },
	{ "1@%bpl", REG(1, false, "bp", 8) },
	{ "1@%spl", REG(1, false, "sp", 8) },
	{ "4@%r8d", REG(4, false, "r8", 32) },
	{ "2@%r9w", REG(2, false, "r9", 16) },
	{ "1@%r10b", REG(1, false, "r10", 8) },
	{ "8@%r11", REG(8, false, "r11", 64) },
	{ "-4@%r14d", REG(4, true, "r14", 32) },
	{ "8@%r15", REG(8, false, "r15", 64) },
	{ "8@%rsp", REG(8, false, "sp", 64) },
	{ "8@%rbp", REG(8, false, "bp", 64) },
	{ "8@%rip", REG(8, false, "ip", 64) },
	{ "1@%ah",
	  { .kind = OPERAND_REG, .size = 1, .base = "ax", .reg_bits = 8, .reg_shift = 8 } },
	{ "%bh",
	  { .kind = OPERAND_REG, .size = 1, .base = "bx", .reg_bits = 8, .reg_shift = 8 } },
	{ "8f@%xmm0",
	  { .kind = OPERAND_REG,
	    .size = 8,
	    .is_float = true,
	    .base = "xmm0",
	    .reg_bits = 64 } },
	{ "4f@%xmm15",
	  { .kind = OPERAND_REG,
	    .size = 4,
	    .is_float = true,
	    .base = "xmm15",
	    .reg_bits = 64 } },
	{ "8@%xmm3",
	  { .kind = OPERAND_REG,
	    .size = 8,
	    .is_float = true,
	    .base = "xmm3",
	    .reg_bits = 64 } },
	{ "-8@%xmm3",
	  { .kind = OPERAND_REG,
	    .size = 8,
	    .is_signed = true,
	    .base = "xmm3",
	    .reg_bits = 64 } },
	{ "8f@%rax",
	  { .kind = OPERAND_REG, .size = 8, .is_float = true, .base = "ax", .reg_bits = 64 } },
	{ "8@-8(%rbp)", MEM(8, false, .base = "bp", .disp = -8) },
	{ "4@(%rax)", MEM(4, false, .base = "ax") },
	{ "4@0(%r13)", MEM(4, false, .base = "r13") },
	{ "-4@-0x24(%rsp)", MEM(4, true, .base = "sp", .disp = -36) },
	{ "-4@-8+16(%rbp)", MEM(4, true, .base = "bp", .disp = 8) },
	{ "-4@+8-4+3(%rbp)", MEM(4, true, .base = "bp", .disp = 7) },
	{ "16(%rdx)", MEM(8, false, .base = "dx", .disp = 16) },
	{ "8@(%rdi,%rsi)", MEM(8, false, .base = "di", .index = "si", .scale = 1) },
	{ "2@8(%rdi,%r9,2)",
	  MEM(2, false, .base = "di", .index = "r9", .scale = 2, .disp = 8) },
	{ "4@-4(%r13,%r12,8)",
	  MEM(4, false, .base = "r13", .index = "r12", .scale = 8, .disp = -4) },
	{ "4@(,%rax,4)", MEM(4, false, .index = "ax", .scale = 4) },
	{ "4@table(,%rax,4)", MEM(4, false, .index = "ax", .scale = 4, SYM("table")) },
	{ "4@table+16(%rdi)", MEM(4, false, .base = "di", .disp = 16, SYM("table")) },
	{ "-4@NBuffers(%rip)", MEM(4, true, SYM("NBuffers"), .pc_relative = true) },
	{ "8@24+mp_(%rip)", MEM(8, false, SYM("mp_"), .pc_relative = true, .disp = 24) },
	{ "8@mp_+24(%rip)", MEM(8, false, SYM("mp_"), .pc_relative = true, .disp = 24) },
	{ "8@mp_-8+1(%rip)", MEM(8, false, SYM("mp_"), .pc_relative = true, .disp = -7) },
	{ "8f@.LC0(%rip)", MEM(8, false, .is_float = true, SYM(".LC0"), .pc_relative = true) },
	{ "4@_ZN1a1bE$tls.5(%rip)", MEM(4, false, SYM("_ZN1a1bE$tls.5"), .pc_relative = true) },
	{ "4@\xc3\xa4(%rip)", MEM(4, false, SYM("\xc3\xa4"), .pc_relative = true) },
	{ "4@cx(%rip)", MEM(4, false, SYM("cx"), .pc_relative = true) },
	{ "4@cx+4(%rip)", MEM(4, false, SYM("cx"), .pc_relative = true, .disp = 4) },
	{ "4@8(%rip)", MEM(4, false, .pc_relative = true, .disp = 8) },
	{ "4@sym", MEM(4, false, SYM("sym")) },
	{ "4@0x404040", MEM(4, false, .disp = 0x404040) },
	{ "8@%fs:8(%rax)", MEM(8, false, .segment = "fs_base", .base = "ax", .disp = 8) },
	{ "8@%fs:0", MEM(8, false, .segment = "fs_base") },
	{ "8@%gs:(%rax)", MEM(8, false, .segment = "gs_base", .base = "ax") },
	{ "8@%ds:(%rax)", MEM(8, false, .base = "ax") },
	{ "4@%fs:counter@tpoff", MEM(4, false, .segment = "fs_base", SYM("counter"),
				     .symbol_kind = OPERAND_SYMBOL_TLS) },
	{ "-4@%fs:counter@tpoff+4", MEM(4, true, .segment = "fs_base", SYM("counter"),
					.disp = 4, .symbol_kind = OPERAND_SYMBOL_TLS) },
	{ "4@%fs:12+arr@TPOFF(,%rax,4)",
	  MEM(4, false, .segment = "fs_base", SYM("arr"), .disp = 12, .index = "ax", .scale = 4,
	      .symbol_kind = OPERAND_SYMBOL_TLS) },
	{ "4@counter@tpoff(%rax)",
	  MEM(4, false, .base = "ax", SYM("counter"), .symbol_kind = OPERAND_SYMBOL_TLS) },
};

static const struct bad x86_64_bad[] = {
	{ "", 0, "a number or a symbol is expected" },
	{ "4@", 2, "a number or a symbol is expected" },
	{ "3@%eax", 0, "a value of 3 bytes cannot be printed" },
	{ "-16@%rax", 1, "a value of 16 bytes cannot be printed" },
	{ "16f@%st", 0, "a value of 16 bytes, floating, cannot be printed" },
	{ "2f@%xmm0", 0, "a value of 2 bytes, floating, cannot be printed" },
	{ "99999999999999999999@%rax", 0, "cannot be printed" },
	{ "8f@%st", 3, "x87" },
	{ "8f@%st(1)", 3, "x87" },
	{ "8@%rxx", 2, "no register that can be read: %rxx" },
	{ "8@%", 2, "no register that can be read: %" },
	{ "8@%RAX", 2, "no register that can be read: %RAX" },
	{ "8@%ymm0", 2, "no register that can be read: %ymm0" },
	{ "8@%mm0", 2, "no register that can be read: %mm0" },
	{ "8@%xmm16", 2, "no register that can be read: %xmm16" },
	{ "2@%xmm1", 2, "a vector register with a value of 2 bytes" },
	{ "4@%ah", 2, "this register has 1 byte, not 4" },
	{ "1@%sih", 2, "no register that can be read: %sih" },
	{ "8@%fs", 5, "':' is expected behind a segment" },
	{ "8@%fs:", 6, "a number or a symbol is expected" },
	{ "8@%fs:%rax", 6, "a number or a symbol is expected" },
	{ "8@$", 3, "a number or a symbol is expected" },
	{ "8@$5x", 4, "'x' makes no sense here" },
	{ "8@$08", 4, "'8' makes no sense here" },
	{ "8@$18446744073709551616", 3, "a number of more than 64 bits" },
	{ "8@$-", 4, "a number or a symbol is expected" },
	{ "8@$-sym", 4, "a difference or sum of symbols is not understood" },
	{ "8@a-b(%rip)", 4, "a difference or sum of symbols is not understood" },
	{ "8@a+b(%rip)", 4, "a difference or sum of symbols is not understood" },
	{ "8@x@GOTPCREL(%rip)", 3, "@GOTPCREL: the file does not tell what" },
	{ "8@%fs:x@gottpoff", 7, "@gottpoff: the file does not tell what" },
	{ "8@x@", 3, "@: the file does not tell what" },
	{ "8@1f(%rip)", 3, "'f' makes no sense here" },
	{ "8@8(rax)", 4, "a register is expected" },
	{ "8@()", 3, "a register is expected" },
	{ "8@(%rax", 7, "')' is expected" },
	{ "8@(%rax)x", 8, "'x' makes no sense here" },
	{ "8@(%rax) )", 9, NULL },
	{ "8@(%eax)", 3, "not a register for addresses of 64 bits" },
	{ "8@(%al)", 3, "not a register for addresses of 64 bits" },
	{ "8@(%xmm0)", 3, "not a register for addresses of 64 bits" },
	{ "8@(%fs)", 3, "not a register for addresses of 64 bits" },
	{ "8@(%rax,%rsp)", 8, "this register can be no index" },
	{ "8@(%rax,%rip)", 8, "this register can be no index" },
	{ "8@(%rip,%rax)", 8, "this register can be no index" },
	{ "8@(%rax,%ecx)", 8, "not a register for addresses of 64 bits" },
	{ "8@(%rax,)", 8, "a register is expected" },
	{ "8@(%rax,%rcx,3)", 13, "the scale must be 1, 2, 4 or 8" },
	{ "8@(%rax,%rcx,)", 13, "the scale must be 1, 2, 4 or 8" },
	{ "8@(%rax,%rcx,", 13, "the scale must be 1, 2, 4 or 8" },
	{ "8@(%rax,%rcx,16)", 14, "')' is expected" },
	{ "8@*(%rax)", 2, "a number or a symbol is expected" },
	{ "8@rax", 2, "Intel" },
	{ "8@[rbp-8]", 2, "Intel" },
	{ "4@DWORD PTR [rbp-8]", 2, "Intel" },
};

static const struct good i386_good[] = {
	{ "-4@$5", IMM(4, true, 5) },
	{ "$5", IMM(4, false, 5) },
	{ "8@$5", IMM(8, false, 5) },
	{ "4@%eax", REG(4, false, "ax", 32) },
	{ "-4@%ax", REG(4, true, "ax", 16) },
	{ "1@%cl", REG(1, false, "cx", 8) },
	{ "1@%ch",
	  { .kind = OPERAND_REG, .size = 1, .base = "cx", .reg_bits = 8, .reg_shift = 8 } },
	{ "8f@%xmm7",
	  { .kind = OPERAND_REG,
	    .size = 8,
	    .is_float = true,
	    .base = "xmm7",
	    .reg_bits = 64 } },
	{ "-4@-12(%ebp)", MEM(4, true, .base = "bp", .disp = -12) },
	{ "(%esp)", MEM(4, false, .base = "sp") },
	{ "8@(%eax,%edx,8)", MEM(8, false, .base = "ax", .index = "dx", .scale = 8) },
	{ "4@sym", MEM(4, false, SYM("sym")) },
	{ "4@sym+4", MEM(4, false, SYM("sym"), .disp = 4) },
	{ "4@sym@GOTOFF(%ebx)",
	  MEM(4, false, .base = "bx", SYM("sym"), .symbol_kind = OPERAND_SYMBOL_GOT) },
	{ "4@4+sym@GOTOFF(%ebx,%eax,4)",
	  MEM(4, false, .base = "bx", .index = "ax", .scale = 4, .disp = 4, SYM("sym"),
	      .symbol_kind = OPERAND_SYMBOL_GOT) },
	{ "4@%gs:x@ntpoff",
	  MEM(4, false, .segment = "gs_base", SYM("x"), .symbol_kind = OPERAND_SYMBOL_TLS) },
	{ "4@%gs:-4", MEM(4, false, .segment = "gs_base", .disp = -4) },
};

static const struct bad i386_bad[] = {
	{ "8@%eax", 2, "8 bytes are in two registers, and only one is told" },
	{ "4@%rax", 2, "no register that can be read: %rax" },
	{ "4@%r8d", 2, "no register that can be read: %r8d" },
	{ "1@%sil", 2, "no register that can be read: %sil" },
	{ "4@%xmm8", 2, "no register that can be read: %xmm8" },
	{ "4@(%rax)", 3, "no register that can be read: %rax" },
	{ "4@(%ax)", 3, "not a register for addresses of 32 bits" },
	{ "4@sym@GOT(%ebx)", 5, "@GOT: the file does not tell what" },
	{ "4@x@indntpoff", 3, "@indntpoff: the file does not tell what" },
};

static const struct good arm64_good[] = {
	{ "8@x0", REG(8, false, "x0", 64) },
	{ "-4@w1", REG(4, true, "x1", 32) },
	{ "x30", REG(8, false, "x30", 64) },
	{ "w9", REG(4, false, "x9", 32) },
	{ "1@w3", REG(1, false, "x3", 32) },
	{ "8@sp", REG(8, false, "sp", 64) },
	{ "8@fp", REG(8, false, "x29", 64) },
	{ "8@xzr", IMM(8, false, 0) },
	{ "-4@wzr", IMM(4, true, 0) },
	{ "8f@d0",
	  { .kind = OPERAND_REG, .size = 8, .is_float = true, .base = "v0", .reg_bits = 64 } },
	{ "4f@s31",
	  { .kind = OPERAND_REG, .size = 4, .is_float = true, .base = "v31", .reg_bits = 32 } },
	{ "8@v8",
	  { .kind = OPERAND_REG, .size = 8, .is_float = true, .base = "v8", .reg_bits = 64 } },
	{ "-4@5", IMM(4, true, 5) },
	{ "-4@-1", IMM(4, true, -1) },
	{ "4@#0x10", IMM(4, false, 16) },
	{ "8@[sp]", MEM(8, false, .base = "sp") },
	{ "1@[sp, 43]", MEM(1, false, .base = "sp", .disp = 43) },
	{ "1@[sp,43]", MEM(1, false, .base = "sp", .disp = 43) },
	{ "-4@[x29, -20]", MEM(4, true, .base = "x29", .disp = -20) },
	{ "4@[x0, #16]", MEM(4, false, .base = "x0", .disp = 16) },
	{ "4@[ x0 , #-16 ]", MEM(4, false, .base = "x0", .disp = -16) },
	{ "8@[x19,x20]", MEM(8, false, .base = "x19", .index = "x20", .scale = 1) },
	{ "8@[x0, x1, lsl 3]", MEM(8, false, .base = "x0", .index = "x1", .scale = 8) },
	{ "4@[x0, x1, lsl #2]", MEM(4, false, .base = "x0", .index = "x1", .scale = 4) },
	{ "4@[x0, #:lo12:sym]", MEM(4, false, SYM("sym"), .pc_relative = true) },
	{ "4@[x0, :lo12:sym+8]", MEM(4, false, SYM("sym"), .pc_relative = true, .disp = 8) },
};

static const struct bad arm64_bad[] = {
	{ "", 0, "no register" },
	{ "8@", 2, "no register" },
	{ "8@x31", 2, "no register that can be read: x31" },
	{ "8@x01", 2, "no register that can be read: x01" },
	{ "8@x", 2, "no register that can be read: x" },
	{ "8@x100", 2, "no register that can be read: x100" },
	{ "8@%rax", 2, "no register that can be read: " },
	{ "8@sym", 2, "no register that can be read: sym" },
	{ "8@5+sym", 2, "a symbol makes no sense here" },
	{ "2@d0", 2, "a vector register with a value of 2 bytes" },
	{ "8@[]", 3, "no register" },
	{ "8@[w0]", 3, "not a register for addresses of 64 bits" },
	{ "8@[xzr]", 3, "not a register for addresses of 64 bits" },
	{ "8@[d0]", 3, "not a register for addresses of 64 bits" },
	{ "8@[sp", 5, "']' is expected" },
	{ "8@[sp 43]", 6, "']' is expected" },
	{ "8@[sp, ]", 7, "no register" },
	{ "8@[sp, 4+x]", 7, "a symbol makes no sense here" },
	{ "8@[x0, w1, sxtw 2]", 7, "not a register for addresses of 64 bits" },
	{ "8@[x0, x1, sxtx 2]", 11, "only \"lsl\" is understood here" },
	{ "8@[x0, x1, lsl 4]", 15, "the shift must be 0 to 3" },
	{ "8@[x0, x1, lsl]", 14, "the shift must be 0 to 3" },
	{ "8@[x0, 8]!", 9, "'!' makes no sense here" },
	{ "8@[x0], 8", 6, "',' makes no sense here" },
};

static void check_same(const char *text, const struct operand *got, const struct operand *want)
{
	const struct {
		const char *got, *want;
	} names[] = {
		{ got->base, want->base },
		{ got->index, want->index },
		{ got->segment, want->segment },
	};

	if (got->kind != want->kind || got->size != want->size ||
	    got->is_signed != want->is_signed || got->is_float != want->is_float ||
	    got->scale != want->scale || got->reg_bits != want->reg_bits ||
	    got->reg_shift != want->reg_shift || got->disp != want->disp ||
	    got->symbol_len != want->symbol_len || got->symbol_kind != want->symbol_kind ||
	    got->pc_relative != want->pc_relative)
		fail_msg("%s: another operand (kind %d size %u disp %lld)", text, got->kind,
			 got->size, (long long)got->disp);
	for (size_t i = 0; i < N_ELEMS(names); i++) {
		if (names[i].want && names[i].got)
			assert_string_equal(names[i].got, names[i].want);
		else if (names[i].want != names[i].got)
			fail_msg("%s: register %s instead of %s", text, names[i].got,
				 names[i].want);
	}
	if (want->symbol &&
	    (!got->symbol || memcmp(got->symbol, want->symbol, want->symbol_len)))
		fail_msg("%s: another symbol", text);
	if (!want->symbol && got->symbol)
		fail_msg("%s: a symbol", text);
}

static void check_good(uint16_t machine, const struct good *good, size_t n)
{
	static char all[8192];
	struct ubp_err err;
	const char *at;
	size_t len = 0;

	/* All in one text, with blanks of all kinds between. */
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", good[i].text,
					i % 2 ? " " : " \t ");
	assert_true(len < sizeof(all) - 1);
	at = all;
	for (size_t i = 0; i < n; i++) {
		const char *alone = good[i].text;
		struct operand operand;

		ubp_err_reset(&err);
		if (operand_parse(machine, &alone, &operand, &err) != 0)
			fail_msg("%s: %s", good[i].text, err.text);
		assert_string_equal(alone, "");
		check_same(good[i].text, &operand, &good[i].operand);
		alone = good[i].text;
		operand_skip(machine, &alone);
		assert_string_equal(alone, "");
		assert_int_equal(operand_parse(machine, &at, &operand, &err), 0);
		check_same(good[i].text, &operand, &good[i].operand);
	}
	assert_string_equal(at, "");
}

static void check_bad(uint16_t machine, const struct bad *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *at = bad[i].text;
		struct operand operand;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		rc = operand_parse(machine, &at, &operand, &err);
		if (rc != (bad[i].message ? -EINVAL : 0))
			fail_msg("\"%s\": %d", bad[i].text, rc);
		if ((size_t)(at - bad[i].text) != bad[i].at)
			fail_msg("\"%s\": stops at %zu: %s", bad[i].text,
				 (size_t)(at - bad[i].text), err.text);
		if (bad[i].message && !strstr(err.text, bad[i].message))
			fail_msg("\"%s\": %s", bad[i].text, err.text);
	}
}

static void test_x86_64(void **state)
{
	(void)state;
	check_good(EM_X86_64, x86_64_good, N_ELEMS(x86_64_good));
	check_bad(EM_X86_64, x86_64_bad, N_ELEMS(x86_64_bad));
}

static void test_i386(void **state)
{
	(void)state;
	check_good(EM_386, i386_good, N_ELEMS(i386_good));
	check_bad(EM_386, i386_bad, N_ELEMS(i386_bad));
}

static void test_arm64(void **state)
{
	(void)state;
	check_good(EM_AARCH64, arm64_good, N_ELEMS(arm64_good));
	check_bad(EM_AARCH64, arm64_bad, N_ELEMS(arm64_bad));
}

static const struct good ppc64el_good[] = {
	{ "8@3", REG(8, false, "gpr3", 64) },
	{ "-4@31", REG(4, true, "gpr31", 64) },
	{ "9", REG(8, false, "gpr9", 64) },
	{ "8@r3", REG(8, false, "gpr3", 64) },
	{ "8@%r30", REG(8, false, "gpr30", 64) },
	{ "-4@i5", IMM(4, true, 5) },
	{ "-4@i-1", IMM(4, true, -1) },
	{ "8@i4096", IMM(8, false, 4096) },
	{ "8@32", IMM(8, false, 32) },
	{ "-4@-1", IMM(4, true, -1) },
	{ "8f@f1",
	  { .kind = OPERAND_REG, .size = 8, .is_float = true, .base = "f1", .reg_bits = 64 } },
	{ "8@0(9)", { .kind = OPERAND_MEMORY, .size = 8, .base = "gpr9" } },
	{ "-4@16(1)",
	  { .kind = OPERAND_MEMORY,
	    .size = 4,
	    .is_signed = true,
	    .base = "gpr1",
	    .disp = 16 } },
	{ "1@-24(%r31)", { .kind = OPERAND_MEMORY, .size = 1, .base = "gpr31", .disp = -24 } },
	{ "8@8(0)", { .kind = OPERAND_MEMORY, .size = 8, .disp = 8 } },
	{ "8@9,10",
	  { .kind = OPERAND_MEMORY, .size = 8, .base = "gpr9", .index = "gpr10", .scale = 1 } },
	{ "8@0,10", { .kind = OPERAND_MEMORY, .size = 8, .index = "gpr10", .scale = 1 } },
};

static const struct bad ppc64el_bad[] = {
	{ "8@", 2, "a number or a symbol is expected" },
	{ "8@sym", 2, "a symbol makes no sense here" },
	{ "8@8(32)", 4, "not a register for addresses" },
	{ "8@8(9", 5, "')' is expected" },
	{ "8@9,sym", 4, "not a register for addresses" },
	{ "2@f1", 2, "a floating register with a value of 2 bytes" },
	{ "8@3)", 3, "')' makes no sense here" },
};

static void test_ppc64el(void **state)
{
	(void)state;
	check_good(EM_PPC64, ppc64el_good, N_ELEMS(ppc64el_good));
	check_bad(EM_PPC64, ppc64el_bad, N_ELEMS(ppc64el_bad));
}

static void test_other_machine(void **state)
{
	const char *text = "8@%rax", *at = text;
	struct operand operand;
	struct ubp_err err;
	bool is_vector;

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(operand_parse(EM_S390, &at, &operand, &err), -ENOTSUP);
	assert_null(operand_dwarf_register(EM_S390, 0, &is_vector));
}

static void test_skip(void **state)
{
	const char *at = "8@(%rax 4@[sp, 4] x";

	(void)state;
	operand_skip(EM_X86_64, &at);
	assert_string_equal(at, "4@[sp, 4] x");
	operand_skip(EM_AARCH64, &at);
	assert_string_equal(at, "x");
	operand_skip(EM_AARCH64, &at);
	assert_string_equal(at, "");
	operand_skip(EM_AARCH64, &at);
	assert_string_equal(at, "");
	at = "8@[sp, 4";
	operand_skip(EM_AARCH64, &at);
	assert_string_equal(at, "");
}

static const struct {
	uint16_t machine;
	unsigned first;
	const char *names; /* "-": none */
} dwarf[] = {
	{ EM_X86_64, 0,
	  "ax dx cx bx si di bp sp r8 r9 r10 r11 r12 r13 r14 r15 ip "
	  "xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 "
	  "xmm15 - - - - - - - - - - - - - - - - flags - cs ss - - - - - fs_base gs_base - -" },
	{ EM_X86_64, 0xfffffff0, "- - - - - - - - - - - - - - - -" },
	{ EM_386, 0,
	  "ax cx dx bx sp bp si di ip flags - - - - - - - - - - - "
	  "xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 - - - - - - - - - - - - cs ss -" },
	{ EM_AARCH64, 0,
	  "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 "
	  "x23 x24 x25 x26 x27 x28 x29 x30 sp pc - -" },
	{ EM_AARCH64, 62,
	  "- - v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12 v13 v14 v15 v16 v17 v18 v19 v20 v21 "
	  "v22 v23 v24 v25 v26 v27 v28 v29 v30 v31 - -" },
	{ EM_PPC64, 29,
	  "gpr29 gpr30 gpr31 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 "
	  "f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31 - link ctr - -" },
};

static void test_dwarf_registers(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(dwarf); i++) {
		const char *at = dwarf[i].names;
		unsigned number = dwarf[i].first;

		while (*at) {
			size_t len = strcspn(at, " ");
			bool is_vector;
			const char *name =
				operand_dwarf_register(dwarf[i].machine, number++, &is_vector);

			if (strlen(name ? name : "-") != len ||
			    memcmp(name ? name : "-", at, len) != 0)
				fail_msg("machine %u, register %u: %s", dwarf[i].machine,
					 number - 1, name);
			assert_int_equal(is_vector, name && (*name == 'v' ||
							     (*name == 'f' && name[1] >= '0' &&
							      name[1] <= '9') ||
							     strncmp(name, "xmm", 3) == 0));
			at += len;
			at += strspn(at, " ");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_64),          cmocka_unit_test(test_i386),
		cmocka_unit_test(test_arm64),           cmocka_unit_test(test_ppc64el),
		cmocka_unit_test(test_other_machine),   cmocka_unit_test(test_skip),
		cmocka_unit_test(test_dwarf_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
