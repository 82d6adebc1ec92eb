/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What of arm64 does not depend on one instruction alone, or on its slot: what stands around
 * it, windows, flags, registers. Pure: any host.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/detour.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"
#include "tests/unit/arm64_words.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define A          WORDS_AT
#define S          UINT64_C(0x55000040) /* the slot */

/* --- where a breakpoint may not be ---------------------------------------------------- */

static const struct {
	const char *code;
	const char *refused; /* a letter for each instruction: y n */
} places[] = {
	/* 1: ldaxr w0, [x1]; add w0, w0, #1; stxr w2, w0, [x1]; cbnz w2, 1b; ret */
	{ "885ffc20 11000400 88027c20 35ffffa2 d65f03c0", "nynnn" },
	/* 1: ldaxr w0, [x1]; cmp w0, w3; b.ne 2f; stxr w2, w4, [x1]; cbnz w2, 1b; 2: ret; nop */
	{ "885ffc20 6b03001f 54000061 88027c24 35ffff82 d65f03c0 d503201f", "nyynnnn" },
	/* The same, and the rest of the sequence elsewhere: b behind the ret, and back. */
	{ "885ffc20 6b03001f 14000004 88027c24 35ffff82 d65f03c0 d503201f 17fffffc",
	  "nyynnnyy" },
	/* A load without a store: waits for a word to change. */
	{ "885ffc20 34000060 d503205f 17fffffd d65f03c0", "nnnnn" },
	/* clrex gives it up. */
	{ "885ffc20 d5033f5f d503201f 88027c20 d65f03c0", "nnnnn" },
	/* A store in another function's part, behind a ret. */
	{ "885ffc20 d65f03c0 d503201f 88027c20", "nnnn" },
	/* What movprfx and pacm begin. */
	{ "0420bc41 04a20041 d503201f d50324ff d503233f d503201f", "nynnyn" },
};

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(places); i++) {
		uint8_t code[64];
		size_t len = words_parse(places[i].code, code);

		assert_int_equal(strlen(places[i].refused), len / 4);
		for (size_t at = 0; at < len; at += 4) {
			const char *why = words_arch()->insn.refuse_at(code, len, at);

			if ((why != NULL) != (places[i].refused[at / 4] == 'y'))
				fail_msg("%s: at %zu: %s", places[i].code, at,
					 why ? why : "not refused");
		}
		assert_null(words_arch()->insn.refuse_at(code, len, len));
		assert_null(words_arch()->insn.refuse_at(code, len, 2));
	}
}

/* Where a return address is no longer the one in the register. */
static const struct {
	const char *code;
	const char *refused; /* a letter for each instruction: y n */
} return_places[] = {
	/* bti c; paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp */
	{ "d503245f d503233f a9bf7bfd 910003fd", "nnyy" },
	/* nop; pacibsp; ret */
	{ "d503201f d503237f d65f03c0", "nny" },
	/* pacia x30, x1; nop */
	{ "dac1003e d503201f", "ny" },
	/* add x0, x0, #1; adrp x1, .; ldr x1, [x1]; cbz x0, .; ret */
	{ "91000400 90000001 f9400021 b4000000 d65f03c0", "nnnny" },
	/* stp x29, x30, [sp, #-16]!; nop */
	{ "a9bf7bfd d503201f", "ny" },
	/* sub sp, sp, #16; nop */
	{ "d10043ff d503201f", "ny" },
	/* mov x30, x0; nop */
	{ "aa0003fe d503201f", "ny" },
	/* bl .; nop */
	{ "94000000 d503201f", "ny" },
};

static void test_return_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(return_places); i++) {
		uint8_t code[64];
		size_t len = words_parse(return_places[i].code, code);

		assert_int_equal(strlen(return_places[i].refused), len / 4);
		for (size_t at = 0; at < len; at += 4) {
			const char *why = words_arch()->insn.refuse_return_at(code, len, 0, at);

			if ((why != NULL) != (return_places[i].refused[at / 4] == 'y'))
				fail_msg("%s: at %zu: %s", return_places[i].code, at,
					 why ? why : "not refused");
		}
	}
}

/* What is said to begin behind paciasp is no function. */
static void test_return_behind_signing(void **state)
{
	uint8_t code[64];

	(void)state;
	(void)words_parse("d503233f d503201f", code);
	assert_non_null(words_arch()->insn.refuse_return_at(code, 8, 4, 4));
	(void)words_parse("d65f03c0 d503201f", code);
	assert_null(words_arch()->insn.refuse_return_at(code, 8, 4, 4));
}

/* A step that a killed tracer leaves would never end. */
static void test_never_stepped(void **state)
{
	static const uint8_t add[] = { 0x00, 0x04, 0x00, 0x91 };
	struct displaced_insn insn;
	struct ubp_err err;

	(void)state;
	assert_int_equal(words_arch()->insn.analyze(add, sizeof(add), WORDS_AT, &insn, &err),
			 0);
	assert_true(insn.no_step);
}

static void test_taken(void **state)
{
	/* For each condition, bit i: holds with NZCV = i. */
	static const uint16_t holds[16] = {
		0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff, 0xaaaa, 0x5555,
		0x0c0c, 0xf3f3, 0xaa55, 0x55aa, 0x0a05, 0xf5fa, 0xffff, 0xffff,
	};
	static const struct {
		uint32_t word;
		uint64_t x3;
		bool taken;
	} others[] = {
		{ 0x34000043, 0, true },
		{ 0x34000043, UINT64_C(1) << 32, true }, /* w3 is 0 */
		{ 0x34000043, 1, false },
		{ 0xb4000043, UINT64_C(1) << 32, false },
		{ 0xb5000043, UINT64_C(1) << 32, true },
		{ 0x35000043, 0, false },
		{ 0x3400005f, 1, true },                   /* cbz wzr */
		{ 0x36280043, ~(UINT64_C(1) << 5), true }, /* tbz w3, #5 */
		{ 0x36280043, UINT64_C(1) << 5, false },
		{ 0xb7f80043, UINT64_C(1) << 63, true }, /* tbnz x3, #63 */
		{ 0xb7f80043, ~(UINT64_C(1) << 63), false },
		{ 0xb7000043, UINT64_C(1) << 32, true }, /* tbnz x3, #32 */
		{ 0x14000010, 0, true },
	};
	struct displaced_insn insn;
	struct ubp_regs regs = { 0 };
	struct ubp_err err;

	(void)state;
	for (uint32_t c = 0; c < 32; c++)
		for (uint64_t nzcv = 0; nzcv < 16; nzcv++) {
			assert_int_equal(words_analyze(0x54000040 | c, A, &insn, &err), 0);
			regs.r[ARM64_PSTATE] = nzcv << 28;
			assert_int_equal(words_arch()->insn.is_taken(&insn, &regs),
					 holds[c & 15] >> nzcv & 1);
		}
	for (size_t i = 0; i < N_ELEMS(others); i++) {
		assert_int_equal(words_analyze(others[i].word, A, &insn, &err), 0);
		regs.r[3] = others[i].x3;
		if (words_arch()->insn.is_taken(&insn, &regs) != others[i].taken)
			fail_msg("%08x with %llx", others[i].word,
				 (unsigned long long)others[i].x3);
	}
}

/* One of each form. */
static const uint32_t windows[] = {
	0x91000420, 0xd503201f, 0xd4000001, 0x15c00000, 0x54ff8041, 0xb7ff8049, 0x95c00000,
	0xd63f0060, 0xd73f0864, 0x30ff8047, 0x90f00008, 0x58ff8045, 0x9cff8045, 0xd65f03c0,
};

static void test_window(void **state)
{
	uint8_t code[8], jump[4];
	struct window_copy copy;
	struct window window;
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	for (size_t i = 0; i < N_ELEMS(windows); i++) {
		struct displaced_insn insn;
		struct slot_code slot;

		insn_put_word(code, windows[i]);
		insn_put_word(code + 4, 0xd65f03c0);
		assert_int_equal(words_arch()->jump.find(code, 8, 0, A, &window, &err),
				 0);
		assert_int_equal(window.n, 1);
		assert_int_equal(window.len, 4);
		assert_int_equal(window.jump_len, 4);
		assert_int_equal(words_analyze(windows[i], A, &insn, &err), 0);
		assert_int_equal(words_arch()->slot.build(&insn, S, &slot, &err), 0);
		assert_int_equal(words_arch()->jump.build_copy(&window, S, &copy, &err), 0);
		assert_int_equal(copy.len, slot.len);
		assert_memory_equal(copy.code, slot.code, slot.len);
		for (uint8_t at = 0; at < slot.len; at = (uint8_t)(at + 4)) {
			struct ubp_regs a = { .r = { [ARM64_PC] = S + at } }, b = a;
			bool exact = words_arch()->slot.leave(&insn, &slot, S, &a);

			assert_int_equal(words_arch()->jump.copy_leave(&window, &copy, S, &b),
					 exact);
			assert_memory_equal(&a, &b, sizeof(a));
		}
	}
	assert_int_equal(words_arch()->jump.build(&window, A, S, jump, &err), 0);
	assert_int_equal(insn_word(jump), 0x14000000 | (((S - A) >> 2) & 0x3ffffff));
	assert_int_equal(words_arch()->jump.build(&window, A, A + 0x7fffffc, jump, &err), 0);
	assert_int_equal(words_arch()->jump.build(&window, A, A - 0x8000000, jump, &err), 0);
	assert_int_equal(words_arch()->jump.build(&window, A, A + 0x8000000, jump, &err),
			 -ERANGE);
	assert_int_equal(words_arch()->jump.build(&window, A, A - 0x8000004, jump, &err),
			 -ERANGE);
	insn_put_word(code, ARM64_BRK);
	assert_int_equal(words_arch()->jump.find(code, 8, 0, A, &window, &err),
			 -EOPNOTSUPP);
	assert_int_equal(window.why, WINDOW_INSN);
	assert_int_equal(words_arch()->jump.find(code, 2, 0, A, &window, &err),
			 -EOPNOTSUPP);
	assert_int_equal(window.why, WINDOW_SHORT);
}

/* --- what is around ------------------------------------------------------------------- */

struct seen {
	uint64_t at[8], target[8];
	enum code_ref kind[8];
	size_t n;
};

static void see(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct seen *s = ctx;

	assert_true(s->n < N_ELEMS(s->at));
	s->at[s->n] = at;
	s->target[s->n] = target;
	s->kind[s->n++] = kind;
}

static void test_refs(void **state)
{
	uint8_t code[64];
	/* b.ne; adrp x8; ldr x1, [x2]; add x9, x8, #0x18; bl; adr x7; ldr x5, literal; ret */
	size_t len = words_parse("54ff8041 90f00008 f9400041 91006109 95c00000 30ff8047 "
				 "58ff8045 d65f03c0",
				 code);
	struct seen seen = { .n = 0 };

	(void)state;
	words_arch()->insn.scan_refs(code, len, A, REF_BRANCH | REF_ADDRESS, see, &seen);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.at[0], A);
	assert_int_equal(seen.target[0], A - 0xff8);
	assert_int_equal(seen.kind[0], REF_BRANCH);
	assert_int_equal(seen.target[1], 0x35550018);
	assert_int_equal(seen.kind[1], REF_ADDRESS);
	assert_int_equal(seen.at[2], A + 16);
	assert_int_equal(seen.target[2], A + 16 + 0x7000000);
	assert_int_equal(seen.target[3], A + 20 - 0xff7);
	seen.n = 0;
	words_arch()->insn.scan_refs(code, len, A, REF_SHORT, see, &seen);
	assert_int_equal(seen.n, 0);
	words_arch()->insn.scan_refs(code, 3, A, REF_BRANCH, see, &seen);
	assert_int_equal(seen.n, 0);
}

static void test_fill(void **state)
{
	uint8_t code[64];
	size_t len = words_parse("d503201f 00000000 d4200000 d503201f d65f03c0", code);

	(void)state;
	assert_int_equal(words_arch()->insn.fill_len(code, len), 16);
	assert_int_equal(words_arch()->insn.fill_len(code, 7), 4);
	assert_int_equal(words_arch()->insn.fill_len(code, 3), 0);
	assert_int_equal(words_arch()->insn.fill_len(code + 16, 4), 0);
}

static const struct {
	const char *code;
	size_t len;
} go_checks[] = {
	{ "f9400b90 eb3063ff 54000269 f81d0ffe", 12 },
	{ "f9400b90 d10b03f1 eb10023f 54000569", 16 },
	{ "f9400b90 d283de1b eb3b63f1 54000763 eb10023f 54000729", 24 },
	{ "f9400b90 d28e141b f2a0005b eb3b63f1 54000583 eb10023f 54000549", 28 },
	{ "f9400b81 910003e2 eb01005f 54000269", 16 },
	{ "f9400b90 eb3063ff 54000268", 0 }, /* b.hi */
	{ "f9400b90 eb3063ff", 0 },
	{ "f9400b91 eb3063ff 54000269", 0 },
	{ "d503201f", 0 },
	{ "", 0 },
};

static void test_go_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(go_checks); i++) {
		uint8_t code[64];
		size_t len = words_parse(go_checks[i].code, code);

		if (words_arch()->insn.go_check_len(code, len) != go_checks[i].len)
			fail_msg("%s: %zu", go_checks[i].code,
				 words_arch()->insn.go_check_len(code, len));
	}
}

/* --- registers ------------------------------------------------------------------------ */

static int reg(const char *name)
{
	return words_arch()->reg.by_name(name, strlen(name));
}

static void test_registers(void **state)
{
	static const char *const none[] = { "w0", "fp", "x31", "x00",   "x01", "xzr", "X0",
					    "",   "x",  "v0",  "pstat", "x-1", "x1a" };
	char name[16];

	(void)state;
	for (int i = 0; i < 31; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		assert_int_equal(reg(name), i);
	}
	assert_int_equal(reg("lr"), 30);
	assert_int_equal(reg("sp"), 31);
	assert_int_equal(reg("pc"), 32);
	assert_int_equal(reg("pstate"), 33);
	for (size_t i = 0; i < N_ELEMS(none); i++)
		assert_int_equal(reg(none[i]), -1);
	assert_int_equal(words_arch()->reg.by_name("x1:u32", 2), 1);
	assert_int_equal(words_arch()->reg.more_by_name("v31", 3), UBP_REG_VECTOR + 31);
	assert_int_equal(words_arch()->reg.more_by_name("v32", 3), -1);
	assert_int_equal(words_arch()->reg.more_by_name("tpidr_el0", 9), ARM64_TP);
	assert_int_equal(words_arch()->reg.more_by_name("xmm0", 4), -1);
	assert_ptr_equal(ubp_arch_find(183, 2), words_arch());
	assert_null(ubp_arch_find(183, 1));
	assert_true(words_arch()->reg.n <= UBP_REGS_MAX &&
		    words_arch()->unwind.n_regs <= UBP_DWARF_REGS_MAX);
	assert_int_equal(words_arch()->unwind.regs[31], ARM64_SP);
	assert_int_equal(words_arch()->unwind.regs[32], ARM64_PC);
	/* struct rt_sigframe: x0, sp, pc */
	assert_int_equal(words_arch()->unwind.sigframe_at[0], 312);
	assert_int_equal(words_arch()->unwind.sigframe_at[31], 312 + 31 * 8);
	assert_int_equal(words_arch()->unwind.sigframe_at[32], 312 + 32 * 8);
	assert_true(words_arch()->unwind.is_sigreturn(
		(const uint8_t *)"\x68\x11\x80\xd2\x01\0\0\xd4", 8));
	assert_false(words_arch()->unwind.is_sigreturn(
		(const uint8_t *)"\x68\x11\x80\xd2\x01\0\0\xd4", 7));
}

static void test_breakpoint(void **state)
{
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;

	(void)state;
	assert_int_equal(insn_word(words_arch()->swbp.code), ARM64_SWBP);
	assert_int_equal(words_analyze(ARM64_SWBP, A, &insn, &err), -EOPNOTSUPP);
	assert_int_equal(insn_word(words_arch()->swbp.nop), ARM64_NOP);
	/* Returns come to one. */
	assert_int_equal(words_arch()->trampoline.build(&code), 0);
	assert_int_equal(insn_word(code.code), ARM64_SWBP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_return_places),
		cmocka_unit_test(test_return_behind_signing),
		cmocka_unit_test(test_never_stepped),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_go_check),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_breakpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
