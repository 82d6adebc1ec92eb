/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * arm64 instructions by table: what their slots hold, which are refused and why. The words
 * were made by an assembler, of the code that is meant to stand there. Pure: any host.
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
#include "engine/base/err.h"
#include "tests/unit/arm64_words.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define NONE       0xff
#define A          WORDS_AT
#define S          UINT64_C(0x55000040) /* the slot */
#define FAR        UINT64_C(0x6d550000) /* one that no branch reaches */

struct slot_vector {
	const char *what;
	uint32_t in;
	const char *out; /* words */
	uint8_t done_at, taken_at;
};

static const struct slot_vector vectors[] = {
	{ "add x0, x1, #1", 0x91000420, "91000420 14153ff0", 4, NONE },
	{ "nop", 0xd503201f, "14153ff1", 0, NONE },
	{ "svc #0", 0xd4000001, "d4000001 14153ff0", 4, NONE },
	{ "bti c", 0xd503245f, "d503245f 14153ff0", 4, NONE },
	{ "casal", 0xc8e0fc41, "c8e0fc41 14153ff0", 4, NONE },
	{ "b", 0x15c00000, "15d53ff0", NONE, 0 },
	{ "b.ne", 0x54ff8041, "54000041 14153ff0 14153bf0", 4, 8 },
	{ "cbz w3", 0x34ff8043, "34000043 14153ff0 14153bf0", 4, 8 },
	{ "cbnz x30", 0xb5ff805e, "b500005e 14153ff0 14153bf0", 4, 8 },
	{ "tbz w0, #5", 0x362f8040, "36280040 14153ff0 14153bf0", 4, 8 },
	{ "tbnz x9, #63", 0xb7ff8049, "b7f80049 14153ff0 14153bf0", 4, 8 },
	{ "bl", 0x95c00000, "5800005e 15d53fef 55550004 00000000", NONE, 4 },
	{ "blr x3", 0xd63f0060, "5800005e d61f0060 55550004 00000000", NONE, 4 },
	{ "blraa x3, x4", 0xd73f0864, "5800005e d71f0864 55550004 00000000", NONE, NONE },
	{ "blrabz x3", 0xd63f0c7f, "5800005e d61f0c7f 55550004 00000000", NONE, NONE },
	{ "adr x7", 0x30ff8047, "58000047 14153ff0 5554f009 00000000", 4, NONE },
	{ "adrp x8", 0x90f00008, "58000048 14153ff0 35550000 00000000", 4, NONE },
	{ "adr xzr", 0x10ff805f, "14153ff1", 0, NONE },
	{ "ldr w5, lit", 0x18ff8045, "58000085 b94000a5 14153fef 00000000 5554f008 00000000", 8,
	  NONE },
	{ "ldr x5, lit", 0x58ff8045, "58000085 f94000a5 14153fef 00000000 5554f008 00000000", 8,
	  NONE },
	{ "ldrsw x5, lit", 0x98ff8045, "58000085 b98000a5 14153fef 00000000 5554f008 00000000",
	  8, NONE },
	{ "prfm lit", 0xd8ff8040, "14153ff1", 0, NONE },
	{ "ldr xzr, lit", 0x58ff805f, "14153ff1", 0, NONE },
	{ "ldr s5, lit", 0x1cff8045,
	  "f8170ff0 580000b0 bd400205 f84907f0 14153fed 00000000 5554f008 00000000", 16, NONE },
	{ "ldr d5, lit", 0x5cff8045,
	  "f8170ff0 580000b0 fd400205 f84907f0 14153fed 00000000 5554f008 00000000", 16, NONE },
	{ "ldr q5, lit", 0x9cff8045,
	  "f8170ff0 580000b0 3dc00205 f84907f0 14153fed 00000000 5554f008 00000000", 16, NONE },
	{ "br x1", 0xd61f0020, "d61f0020", NONE, NONE },
	{ "ret", 0xd65f03c0, "d65f03c0", NONE, NONE },
	{ "retaa", 0xd65f0bff, "d65f0bff", NONE, NONE },
	{ "braa x1, sp", 0xd71f083f, "d71f083f", NONE, NONE },
};

static void check_vector(void **state)
{
	const struct slot_vector *v = *state;
	uint8_t out[UBP_SLOT_SIZE];
	size_t len = words_parse(v->out, out);
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;

	assert_int_equal(words_analyze(v->in, A, &insn, &err), 0);
	assert_int_equal(insn.len, 4);
	assert_int_equal(insn.kind, INSN_BOOST);
	assert_int_equal(insn.is_call, strncmp(v->what, "bl", 2) == 0);
	assert_int_equal(words_arch()->slot.build(&insn, S, &code, &err), 0);
	assert_int_equal(code.len, len);
	assert_memory_equal(code.code, out, len);
	assert_int_equal(code.done_at, v->done_at);
	assert_int_equal(code.taken_at, v->taken_at);
	/* Whatever leads back, or on, can't from there. */
	assert_int_equal(words_arch()->slot.build(&insn, FAR, &code, &err),
			 v->done_at == NONE && (v->taken_at == NONE || insn.form == ARM64_BLR)
				 ? 0
				 : -ERANGE);
}

/* --- refused -------------------------------------------------------------------------- */

static const struct {
	uint32_t word;
	int rc;
	const char *says;
} refusals[] = {
	{ 0xd42eac40, -EOPNOTSUPP, "'brk #0x7562': it is a breakpoint itself" },
	{ 0xd4200000, -EOPNOTSUPP, "breakpoint" },
	{ 0xd4400000, -EOPNOTSUPP, "'hlt #0': it is for debuggers" },
	{ 0xd4a00001, -EOPNOTSUPP, "debuggers" },
	{ 0x00000000, -EOPNOTSUPP, "'udf (00000000)': it is undefined for good" },
	{ 0x0000dead, -EOPNOTSUPP, "undefined" },
	{ 0xd4000002, -EOPNOTSUPP, "'hvc #0': it enters another level" },
	{ 0xd4000003, -EOPNOTSUPP, "another level" },
	{ 0xd69f03e0, -EOPNOTSUPP, "'eret': only the kernel" },
	{ 0xd69f0bff, -EOPNOTSUPP, "only the kernel" }, /* eretaa */
	{ 0xd6bf03e0, -EOPNOTSUPP, "only the kernel" }, /* drps */
	{ 0xd50342df, -EOPNOTSUPP, "only the kernel" }, /* msr daifset */
	{ 0xd5184400, -EOPNOTSUPP, "only the kernel" }, /* msr sctlr_el1 and the like */
	{ 0xd508871f, -EOPNOTSUPP, "only the kernel" }, /* tlbi vmalle1 */
	{ 0xc85f7c20, -EOPNOTSUPP, "'ldxr x0, [x1]': the reservation" },
	{ 0x885ffc20, -EOPNOTSUPP, "reservation" },                           /* ldaxr */
	{ 0xc8027c20, -EOPNOTSUPP, "reservation" },                           /* stxr */
	{ 0x0802fc20, -EOPNOTSUPP, "reservation" },                           /* stlxrb */
	{ 0xc87f0820, -EOPNOTSUPP, "reservation" },                           /* ldxp */
	{ 0xc8220c20, -EOPNOTSUPP, "reservation" },                           /* stxp */
	{ 0x0420bc41, -EOPNOTSUPP, "and the instruction behind it are one" }, /* movprfx */
	{ 0x04912441, -EOPNOTSUPP, "are one" }, /* movprfx, predicated */
	{ 0xd50324ff, -EOPNOTSUPP, "'pacm': it and" },
	{ 0x1d010440, -EOPNOTSUPP, "memory copy" }, /* cpyp */
	{ 0x1d410440, -EOPNOTSUPP, "memory copy" },
	{ 0x19c10440, -EOPNOTSUPP, "memory copy" }, /* setp */
	{ 0xdac1a3fe, -EOPNOTSUPP, "its own address" },
	{ 0x5500001f, -EOPNOTSUPP, "its own address" },
	{ 0xf380001f, -EOPNOTSUPP, "its own address" },
	{ 0x74000000, -EOPNOTSUPP, "compare and branch" },
	{ 0xd5233060, -EOPNOTSUPP, "a transaction" },
	{ 0xd63f03c0, -EOPNOTSUPP, "'blr x30': it goes by the register that it changes" },
	{ 0xd63f0bdf, -EOPNOTSUPP, "goes by the register" }, /* blraaz x30 */
	{ 0xd73f087e, -EOPNOTSUPP, "goes by the register" }, /* blraa x3, x30 */
	{ 0x00010000, -EILSEQ, "no known instruction: 00010000" },
	{ 0x02000000, -EILSEQ, "no known" },
	{ 0x06000000, -EILSEQ, "no known" },
	{ 0xdc000000, -EILSEQ, "no known" },
	{ 0xd4800000, -EILSEQ, "no known" },
	{ 0xd7ff0000, -EILSEQ, "no known" },
	{ 0x56000000, -EILSEQ, "no known" },
};

/* Look alike, or are what one may doubt. */
static const uint32_t accepted[] = {
	0xd53b4200, /* mrs x0, nzcv */
	0xd5380000, /* mrs x0, midr_el1: the kernel imitates it, wherever it stands */
	0xd51bd040, /* msr tpidr_el0, x0 */
	0xd51b4400, /* msr fpcr, x0 */
	0xd50b7420, /* dc zva */
	0xd503419f, /* msr tco, #1 */
	0xd503477f, /* smstart */
	0xd503207f, /* wfi */
	0xc8dffc20, /* ldar */
	0xc89ffc20, /* stlr */
	0x08207c82, /* casp */
	0xc8a07c41, /* cas */
	0xf8200041, /* ldadd */
	0xf8208041, /* swp */
	0xf8bfc041, /* ldapr */
	0xd9200020, /* stg */
	0xd9000020, /* stlur */
	0x04bf5020, /* rdvl */
	0x0420a041, /* adr of vectors */
	0xd5033f5f, /* clrex */
	0xdac10041, /* pacia */
	0x4c407041, /* ld1 */
	0xc0000000, /* of the matrices */
	0x1e602800, /* fadd */
};

static void test_refusals(void **state)
{
	struct displaced_insn insn;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(refusals); i++) {
		assert_int_equal(words_analyze(refusals[i].word, A, &insn, &err),
				 refusals[i].rc);
		if (!strstr(err.text, refusals[i].says))
			fail_msg("%08x: '%s' doesn't say '%s'", refusals[i].word, err.text,
				 refusals[i].says);
		/* Those who walk through code need its length. */
		assert_true(refusals[i].rc == -EILSEQ || insn.len == 4);
	}
	for (size_t i = 0; i < N_ELEMS(accepted); i++)
		if (words_analyze(accepted[i], A, &insn, &err) < 0 || insn.form != ARM64_COPY)
			fail_msg("%08x: %s", accepted[i], err.text);
	assert_int_equal(words_analyze(ARM64_NOP, A + 2, &insn, &err), -EILSEQ);
	assert_non_null(strstr(err.text, "multiples of 4"));
	assert_int_equal(
		words_arch()->insn.analyze((const uint8_t *)"\x1f\x20\x03", 3, A, &insn, &err),
		-EILSEQ);
	assert_int_equal(words_arch()->insn.len((const uint8_t *)"\x1f\x20\x03", 3, A), 0);
	assert_int_equal(words_arch()->insn.len((const uint8_t *)"\0\0\0\0", 4, A), 4);
}

/* Names of what the disassembler does not know. */
static void test_texts(void **state)
{
	static const struct {
		uint32_t word;
		const char *says;
	} texts[] = {
		{ 0xc8e0fc41, "casal" },   { 0xf8e00041, "ldadd" },
		{ 0xf8e08041, "swp" },     { 0xd65f0bff, "retaa" },
		{ 0xd503233f, "paciasp" }, { 0xd503245f, "bti c" },
		{ 0xf8bfc041, "ldapr" },   { 0x91000420, "add" },
		{ 0xd73f0864, "blraa" },   { 0xdac10041, "(nameless)" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(texts); i++) {
		struct displaced_insn insn;
		struct insn_text text;
		struct ubp_err err;

		assert_int_equal(words_analyze(texts[i].word, A, &insn, &err), 0);
		text = words_arch()->insn.text(&insn);
		/* A newer capstone may have better names. */
		if (!strstr(text.s, texts[i].says) && texts[i].says[0] != '(')
			fail_msg("%08x is '%s'", texts[i].word, text.s);
		assert_true(text.s[0]);
	}
}

/* --- exits ---------------------------------------------------------------------------- */

static void test_leave(void **state)
{
	static const struct {
		uint32_t word;
		enum insn_leave leave;
	} all[] = {
		{ 0xd65f03c0, LEAVE_RET },     { 0xd65f0bff, LEAVE_RET },
		{ 0xd65f0fff, LEAVE_RET },     { 0xd65f0220, LEAVE_JUMP_TO }, /* ret x17 */
		{ 0xd61f0220, LEAVE_JUMP_TO }, { 0xd71f083f, LEAVE_JUMP_TO },
		{ 0x14000010, LEAVE_JUMP },    { 0x54000041, LEAVE_JUMP },
		{ 0x34000043, LEAVE_JUMP },    { 0x36280040, LEAVE_JUMP },
		{ 0x94000010, LEAVE_NOT },     { 0xd63f0060, LEAVE_NOT },
		{ 0x91000420, LEAVE_NOT },     { 0xd4000001, LEAVE_NOT },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct displaced_insn insn;
		struct ubp_err err;

		assert_int_equal(words_analyze(all[i].word, A, &insn, &err), 0);
		if (insn.leave != all[i].leave || insn.ret_pops != 0)
			fail_msg("%08x: %d", all[i].word, insn.leave);
	}
}

/* --- elsewhere ------------------------------------------------------------------------ */

/* What was analyzed here and moved there is what would be analyzed there. */
static void test_move(void **state)
{
	static const uint64_t there[] = { A + 0x1000, A - 0xfff4, 0x7ffff7fc };

	(void)state;
	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		for (size_t k = 0; k < N_ELEMS(there); k++) {
			struct displaced_insn insn, right;
			struct ubp_err err;

			assert_int_equal(words_analyze(vectors[i].in, A, &insn, &err), 0);
			assert_int_equal(words_analyze(vectors[i].in, there[k], &right, &err),
					 0);
			words_arch()->insn.move(&insn, there[k]);
			assert_memory_equal(&insn, &right, sizeof(insn));
		}
}

static void test_slot_leave(void **state)
{
	static const struct {
		uint32_t word;
		uint8_t at;
		uint64_t pc;
		bool exact;
	} all[] = {
		{ 0x91000420, 0, A, true },
		{ 0x91000420, 4, A + 4, true },
		{ 0x15c00000, 0, A + 0x7000000, true }, /* b: taken already */
		{ 0x54ff8041, 0, A, true },
		{ 0x54ff8041, 4, A + 4, true },
		{ 0x54ff8041, 8, A - 0xff8, true },
		{ 0x95c00000, 0, A, true },
		{ 0x95c00000, 4, A + 0x7000000, true },
		{ 0xd63f0060, 0, A, true },
		{ 0xd63f0060, 4, 0x1234, true }, /* x3 */
		{ 0xd63f03e0, 4, 0, true },      /* xzr */
		{ 0xd73f0864, 4, A, false },
		{ 0x30ff8047, 4, A + 4, true },
		{ 0x58ff8045, 4, A, false },
		{ 0x58ff8045, 8, A + 4, true },
		{ 0xd503201f, 0, A, true },
		{ 0x1cff8045, 16, A + 4, true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct ubp_regs regs = { .r = { [3] = 0x1234, [ARM64_SP] = 0x8000 } };
		struct displaced_insn insn;
		struct slot_code code;
		struct ubp_err err;

		assert_int_equal(words_analyze(all[i].word, A, &insn, &err), 0);
		assert_int_equal(words_arch()->slot.build(&insn, S, &code, &err), 0);
		regs.r[ARM64_PC] = S + all[i].at;
		assert_int_equal(words_arch()->slot.leave(&insn, &code, S, &regs),
				 all[i].exact);
		assert_int_equal(regs.r[ARM64_PC], all[i].pc);
		assert_int_equal(regs.r[ARM64_SP], 0x8000);
	}
}

/* What x16 is kept in is taken off the stack again. */
static void test_slot_leave_stack(void **state)
{
	struct ubp_regs regs = { .r = { [ARM64_SP] = 0x8000 - 144, [ARM64_PC] = S + 8 } };
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;

	(void)state;
	assert_int_equal(words_analyze(0x1cff8045, A, &insn, &err), 0);
	assert_int_equal(words_arch()->slot.build(&insn, S, &code, &err), 0);
	assert_false(words_arch()->slot.leave(&insn, &code, S, &regs));
	assert_int_equal(regs.r[ARM64_SP], 0x8000);
	assert_int_equal(regs.r[ARM64_PC], A);
}

/* Random words: what is accepted fits a slot. */
static void test_random(void **state)
{
	uint64_t x = 88172645463325252;
	unsigned n_accepted = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct displaced_insn insn;
		struct slot_code code;
		struct ubp_err err;
		int rc;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		rc = words_analyze((uint32_t)(x >> 32), A, &insn, &err);
		assert_true(rc == 0 || rc == -EILSEQ || rc == -EOPNOTSUPP);
		if (rc < 0)
			continue;
		n_accepted++;
		assert_int_equal(insn.len, 4);
		rc = words_arch()->slot.build(&insn, S, &code, &err);
		if (rc == 0)
			assert_in_range(code.len, 4, UBP_SLOT_SIZE);
		else
			assert_true(rc == -ERANGE &&
				    (insn.form == ARM64_B || insn.form == ARM64_BL));
	}
	assert_true(n_accepted > 100000);
}

int main(void)
{
	struct CMUnitTest all[N_ELEMS(vectors)];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),   cmocka_unit_test(test_texts),
		cmocka_unit_test(test_leave),      cmocka_unit_test(test_move),
		cmocka_unit_test(test_slot_leave), cmocka_unit_test(test_slot_leave_stack),
		cmocka_unit_test(test_random),
	};

	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		all[i] = (struct CMUnitTest){ .name = vectors[i].what,
					      .test_func = check_vector,
					      .initial_state = (void *)&vectors[i] };
	return cmocka_run_group_tests_name("slots", all, NULL, NULL) +
	       cmocka_run_group_tests_name("others", tests, NULL, NULL);
}
