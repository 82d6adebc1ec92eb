/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Slots of ppc64el: table of instruction, the words of its slot as an assembler makes them of
 * the code that is meant to stand there. Pure: any host.
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

#include "arch/detour.h"
#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"
#include "engine/base/err.h"
#include "tests/unit/ppc64el_words.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define NONE       0xff
#define A          P64_AT
#define S          P64_SLOT
#define FAR        UINT64_C(0x5d550000) /* a slot that no branch reaches */

/* r0 kept, the link register = A + 4, r0 back. */
#define LINK "f801fe10 3c000000 60000000 780007c6 64005555 60000004 7c0803a6 e801fe10 "

struct slot_vector {
	const char *what, *in, *out;
	uint8_t done_at, taken_at;
};

static const struct slot_vector vectors[] = {
	{ "addi r3,r3,1", "38630001", "38630001 4854ffc0", 4, NONE },
	{ "nop", "60000000", "4854ffc4", 0, NONE },
	{ "sc", "44000002", "44000002 4854ffc0", 4, NONE },
	{ "scv 0", "44000001", "44000001 4854ffc0", 4, NONE },
	{ "mflr r0", "7c0802a6", "7c0802a6 4854ffc0", 4, NONE },
	{ "b", "48000100", "485500c0", NONE, 0 },
	{ "b backwards", "4bffff00", "4854fec0", NONE, 0 },
	{ "ba", "48001002", "48001002", NONE, 0 },
	{ "bl", "48000101", LINK "485500a0", NONE, 32 },
	{ "bla", "48001003", LINK "48001002", NONE, 32 },
	{ "beq", "41820010", "41820008 4854ffc0 4854ffc8", 4, 8 },
	{ "bdnz", "4200fff0", "42000008 4854ffc0 4854ffa8", 4, 8 },
	{ "bne- cr7", "409effe0", "409e0008 4854ffc0 4854ff98", 4, 8 },
	{ "beqa", "41821002", "41820008 4854ffc0 48001002", 4, 8 },
	{ "bcl 20,31,$+4", "429f0005", LINK "429f0008 4854ffa0 4854ff9c", 36, 40 },
	{ "beql", "41820011", LINK "41820008 4854ffa0 4854ffa8", 36, 40 },
	{ "blr", "4e800020", "4e800020", NONE, NONE },
	{ "beqlr", "4d820020", "4d820020 4854ffc0", 4, NONE },
	{ "bctr", "4e800420", "4e800420", NONE, NONE },
	{ "bctrl", "4e800421", LINK "4e800420", NONE, NONE },
	{ "beqctrl", "4d820421", LINK "4d820420 4854ffa0", 36, NONE },
	{ "bctar", "4e800460", "4e800460", NONE, NONE },
	{ "bctarl", "4e800461", LINK "4e800460", NONE, NONE },
	{ "addpcis r3,1", "4c600005", "3c600000 60630000 786307c6 64635556 60630004 4854ffb0",
	  20, NONE },
	{ "lnia r4", "4c800004", "3c800000 60840000 788407c6 64845555 60840004 4854ffb0", 20,
	  NONE },
	{ "pli r3,0x12345678", "06001234 38605678", "06001234 38605678 4854ffc0", 8, NONE },
	{ "pld r3,8(r4)", "04000000 e4640008", "04000000 e4640008 4854ffc0", 8, NONE },
	{ "pla r3,.+0x100", "06100000 38600100", "06100055 386000c0 4854ffc0", 8, NONE },
	{ "pld r3,.-8", "0413ffff e460fff8", "04100054 e460ffb8 4854ffc0", 8, NONE },
	{ "plwz r5,.+0x200000", "06100020 80a00000", "06100074 80a0ffc0 4854ffc0", 8, NONE },
	{ "pnop", "07000000 00000000", "07000000 00000000 4854ffc0", 8, NONE },
	{ "xxspltiw", "05000001 80070002", "05000001 80070002 4854ffc0", 8, NONE },
	{ "pmxvf32ger", "07900000 ec010adc", "07900000 ec010adc 4854ffc0", 8, NONE },
};

static void check_vector(void **state)
{
	const struct slot_vector *v = *state;
	uint8_t out[UBP_SLOT_SIZE], in[UBP_INSN_MAX];
	size_t len = p64_parse(v->out, out), in_len = p64_parse(v->in, in);
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;
	bool is_free = v->done_at == NONE && (v->taken_at == NONE || in[0] & PPC64EL_ABSOLUTE);

	assert_int_equal(p64_analyze(v->in, A, &insn, &err), 0);
	assert_int_equal(insn.len, in_len);
	assert_int_equal(p64_arch()->insn.len(in, in_len, A), in_len);
	assert_int_equal(insn.kind, INSN_BOOST);
	assert_int_equal(p64_arch()->slot.build(&insn, S, &code, &err), 0);
	assert_int_equal(code.len, len);
	for (size_t i = 0; i < len; i += 4)
		assert_int_equal(insn_word(code.code + i), insn_word(out + i));
	assert_int_equal(code.done_at, v->done_at);
	assert_int_equal(code.taken_at, v->taken_at);
	/* Whatever leads back, or on, can't from there. */
	assert_int_equal(p64_arch()->slot.build(&insn, FAR, &code, &err),
			 is_free ? 0 : -ERANGE);
}

/* --- refused -------------------------------------------------------------------------- */

static const struct {
	const char *words;
	int rc;
	const char *says;
} refusals[] = {
	{ "7fe00008", -EOPNOTSUPP, "'trap (7fe00008)': it is a trap itself" },
	{ "7c810008", -EOPNOTSUPP, "trap itself" }, /* tw */
	{ "7c810088", -EOPNOTSUPP, "trap itself" }, /* td */
	{ "0c810001", -EOPNOTSUPP, "trap itself" }, /* twi */
	{ "08810001", -EOPNOTSUPP, "trap itself" }, /* tdi */
	{ "00000000", -EOPNOTSUPP, "undefined for good" },
	{ "00000200", -EOPNOTSUPP, "'attn" },
	{ "4c000024", -EOPNOTSUPP, "only the kernel" }, /* rfid */
	{ "4c0000a4", -EOPNOTSUPP, "'rfscv" },
	{ "4c000224", -EOPNOTSUPP, "only the kernel" }, /* hrfid */
	{ "4c000064", -EOPNOTSUPP, "only the kernel" }, /* rfi */
	{ "7c600124", -EOPNOTSUPP, "only the kernel" }, /* mtmsr */
	{ "7c600164", -EOPNOTSUPP, "only the kernel" }, /* mtmsrd */
	{ "44000022", -EOPNOTSUPP, "another level" },   /* sc 1 */
	{ "4c000924", -EOPNOTSUPP, "'rfebb" },
	{ "7c602028", -EOPNOTSUPP, "reservation" }, /* lwarx */
	{ "7c6020a8", -EOPNOTSUPP, "reservation" }, /* ldarx */
	{ "7c602068", -EOPNOTSUPP, "'lbarx" },
	{ "7c6020e8", -EOPNOTSUPP, "'lharx" },
	{ "7c602228", -EOPNOTSUPP, "'lqarx" },
	{ "7c60212d", -EOPNOTSUPP, "reservation" }, /* stwcx. */
	{ "7c6021ad", -EOPNOTSUPP, "reservation" }, /* stdcx. */
	{ "7c60256d", -EOPNOTSUPP, "'stbcx." },
	{ "7c6025ad", -EOPNOTSUPP, "'sthcx." },
	{ "7c60216d", -EOPNOTSUPP, "'stqcx." },
	{ "7c00051d", -EOPNOTSUPP, "'tbegin." },
	{ "7c00055d", -EOPNOTSUPP, "'tend." },
	{ "7c00071d", -EOPNOTSUPP, "a transaction" },                        /* tabort. */
	{ "4e800021", -EOPNOTSUPP, "goes by the register that it changes" }, /* blrl */
	{ "4e000420", -EILSEQ, "no known" }, /* bcctr that counts */
	{ "14000000", -EILSEQ, "no known instruction: 14000000" },
	{ "24000000", -EILSEQ, "no known" },
	{ "58000000", -EILSEQ, "no known" },
	{ "00000004", -EOPNOTSUPP, "undefined" },
	{ "44000000", -EILSEQ, "no known" },
	{ "4c000002", -EILSEQ, "no known" },
	{ "06100000 38640100", -EILSEQ, "no known instruction: 06100000 38640100" }, /* R, RA */
	{ "07000000 48000000", -EILSEQ, "no known" }, /* pnop, b */
	{ "05100000 00000000", -EILSEQ, "no known" },
	{ "06200000 38600100", -EILSEQ, "no known" },
	{ "06000000", -EILSEQ, "4 bytes" },
};

static void test_refusals(void **state)
{
	struct displaced_insn insn;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(refusals); i++) {
		int rc = p64_analyze(refusals[i].words, A, &insn, &err);

		if (rc != refusals[i].rc || !strstr(err.text, refusals[i].says))
			fail_msg("%s: %d '%s', not '%s'", refusals[i].words, rc, err.text,
				 refusals[i].says);
		/* Those who walk through code need its length. */
		assert_true(rc == -EILSEQ || insn.len == 4);
	}
	assert_int_equal(p64_analyze("60000000", A + 2, &insn, &err), -EILSEQ);
	assert_non_null(strstr(err.text, "multiples of 4"));
	/* Two words in two blocks: neither there, nor in a slot. */
	assert_int_equal(p64_analyze("06001234 38605678", A + 60, &insn, &err), -EOPNOTSUPP);
	assert_int_equal(insn.len, 8);
	assert_int_equal(p64_analyze("06001234 38605678", A + 56, &insn, &err), 0);
	assert_int_equal(
		p64_arch()->slot.build(&insn, S + 60, &(struct slot_code){ .len = 0 }, &err),
		-ERANGE);
}

/* --- exits ---------------------------------------------------------------------------- */

static void test_leave(void **state)
{
	static const struct {
		const char *word;
		enum insn_leave leave;
		bool is_call;
	} all[] = {
		{ "4e800020", LEAVE_RET, false },     /* blr */
		{ "4d820020", LEAVE_RET, false },     /* beqlr */
		{ "4e800820", LEAVE_JUMP_TO, false }, /* blr, which is not a return */
		{ "4e800420", LEAVE_JUMP_TO, false }, { "4e800460", LEAVE_JUMP_TO, false },
		{ "48000100", LEAVE_JUMP, false },    { "41820010", LEAVE_JUMP, false },
		{ "48000101", LEAVE_NOT, true },      { "4e800421", LEAVE_NOT, true },
		{ "41820011", LEAVE_NOT, true },      { "429f0005", LEAVE_NOT, false },
		{ "38630001", LEAVE_NOT, false },     { "44000002", LEAVE_NOT, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct displaced_insn insn;
		struct ubp_err err;

		assert_int_equal(p64_analyze(all[i].word, A, &insn, &err), 0);
		if (insn.leave != all[i].leave || insn.is_call != all[i].is_call)
			fail_msg("%s: %d", all[i].word, insn.leave);
	}
}

static void test_is_taken(void **state)
{
	/* Bit 2 of ccr is that of beq; bit 30 that of cr7. */
	static const uint64_t eq = 0x20000000, cr7_eq = 2;
	static const struct {
		const char *word;
		uint64_t ccr, ctr;
		bool is_taken;
	} all[] = {
		{ "41820010", eq, 0, true },
		{ "41820010", ~eq, 0, false },
		{ "40820010", eq, 0, false },
		{ "40820010", 0, 0, true },
		{ "409e0010", cr7_eq, 0, false },
		{ "419e0010", cr7_eq, 0, true },
		{ "42000010", 0, 2, true },
		{ "42000010", 0, 1, false },
		{ "42000010", 0, 0, true },
		{ "42400010", 0, 1, true },
		{ "42400010", 0, 2, false },
		{ "41020010", eq, 2, true }, /* bdnzt */
		{ "41020010", eq, 1, false },
		{ "41020010", 0, 2, false },
		{ "42000010", 0, UINT64_C(0x100000001), true },
		{ "48000100", 0, 0, true },
		{ "4e800020", 0, 0, true },
		{ "4d820020", eq, 0, true },
		{ "4d820020", 0, 0, false },
		{ "38630001", 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct ubp_regs regs = {
			.r = { [PPC64EL_CCR] = all[i].ccr, [PPC64EL_CTR] = all[i].ctr }
		};
		struct displaced_insn insn;
		struct ubp_err err;

		assert_int_equal(p64_analyze(all[i].word, A, &insn, &err), 0);
		if (p64_arch()->insn.is_taken(&insn, &regs) != all[i].is_taken)
			fail_msg("%zu: %s", i, all[i].word);
	}
}

/* --- elsewhere ------------------------------------------------------------------------ */

/* What was analyzed here and moved there is what would be analyzed there. */
static void test_move(void **state)
{
	static const uint64_t there[] = { A + 0x1000, A - 0xfff8, 0x7ffff7f0 };

	(void)state;
	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		for (size_t k = 0; k < N_ELEMS(there); k++) {
			struct displaced_insn insn, right;
			struct ubp_err err;

			assert_int_equal(p64_analyze(vectors[i].in, A, &insn, &err), 0);
			assert_int_equal(p64_analyze(vectors[i].in, there[k], &right, &err), 0);
			p64_arch()->insn.move(&insn, there[k]);
			assert_memory_equal(&insn, &right, sizeof(insn));
		}
}

static void test_slot_leave(void **state)
{
	static const struct {
		const char *words;
		uint8_t at;
		uint64_t pc, ctr;
		bool exact;
	} all[] = {
		{ "38630001", 0, A, 8, true },
		{ "38630001", 4, A + 4, 8, true },
		{ "06001234 38605678", 8, A + 8, 8, true },
		{ "60000000", 0, A, 8, true },
		{ "48000100", 0, A + 0x100, 8, true },
		{ "41820010", 0, A, 8, true },
		{ "41820010", 4, A + 4, 8, true },
		{ "41820010", 8, A + 0x10, 8, true },
		{ "48000101", 0, A, 8, true },
		{ "48000101", 4, A, 8, false },
		{ "48000101", 28, A, 8, false },
		{ "48000101", 32, A + 0x100, 8, true },
		/* The branch is still to come: what it will do is known. */
		{ "41820011", 32, A + 4, 8, true },
		{ "41820011", 36, A + 4, 8, true },
		{ "41820011", 40, A + 0x10, 8, true },
		{ "42000011", 32, A + 0x10, 7, true },
		{ "4e800421", 32, 8, 8, true },
		{ "4d820421", 32, A + 4, 8, true },
		{ "4e800461", 32, A, 8, false },
		{ "4c600005", 4, A, 8, false },
		{ "4c600005", 20, A + 4, 8, true },
		{ "4d820020", 4, A + 4, 8, true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(all); i++) {
		struct ubp_regs regs = {
			.r = { [PPC64EL_CTR] = 8, [PPC64EL_NIP] = S + all[i].at }
		};
		struct displaced_insn insn;
		struct slot_code code;
		struct ubp_err err;
		bool exact;

		assert_int_equal(p64_analyze(all[i].words, A, &insn, &err), 0);
		assert_int_equal(p64_arch()->slot.build(&insn, S, &code, &err), 0);
		exact = p64_arch()->slot.leave(&insn, &code, S, &regs);
		if (exact != all[i].exact || regs.r[PPC64EL_NIP] != all[i].pc ||
		    regs.r[PPC64EL_CTR] != all[i].ctr)
			fail_msg("%s at %u: %d, pc 0x%llx", all[i].words, all[i].at, exact,
				 (unsigned long long)regs.r[PPC64EL_NIP]);
	}
}

static void test_window(void **state)
{
	struct window_copy copy;
	struct window window;
	struct ubp_err err;
	uint8_t code[24];
	uint8_t jump[4];

	(void)state;
	ubp_err_reset(&err);
	p64_parse("06001234 38605678 4e800020", code);
	assert_int_equal(p64_arch()->jump.find(code, 12, 0, A, &window, &err), 0);
	assert_int_equal(window.len, 8);
	assert_int_equal(window.jump_len, 4);
	assert_int_equal(p64_arch()->jump.build_copy(&window, S, &copy, &err), 0);
	assert_int_equal(copy.len, 12);
	assert_int_equal(copy.at[1], 8);
	assert_int_equal(p64_arch()->jump.build(&window, A, S, jump, &err), 0);
	assert_int_equal(insn_word(jump), 0x4bab0040);
	assert_int_equal(p64_arch()->jump.build(&window, A, FAR, jump, &err), -ERANGE);
	assert_int_equal(p64_arch()->jump.find(code, 0, 0, A, &window, &err),
			 -EOPNOTSUPP);
}

/* --- what stands around --------------------------------------------------------------- */

static void test_refuse_at(void **state)
{
	/* 1: lwarx; cmpwi; bne 2f; stwcx.; bne 1b; 2: isync; nop; a prefixed one; blr */
	static const char loop[] = "7c602028 2c030000 40820010 7c80212d 40c2fff0 4c00012c "
				   "60000000 06001234 38605678 4e800020";
	static const bool refused[] = { false, true,  true,  false, false,
					false, false, false, true,  false };
	uint8_t code[64];
	size_t len = p64_parse(loop, code);

	(void)state;
	for (size_t i = 0; i < N_ELEMS(refused); i++) {
		const char *why = p64_arch()->insn.refuse_at(code, len, 4 * i);

		if ((why != NULL) != refused[i])
			fail_msg("%zu: %s", i, why ? why : "not refused");
	}
	assert_non_null(strstr(p64_arch()->insn.refuse_at(code, len, 4), "for ever"));
	assert_non_null(strstr(p64_arch()->insn.refuse_at(code, len, 32), "second word"));
}

struct refs {
	uint64_t targets[8];
	size_t n;
};

static void note_ref(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct refs *refs = ctx;

	(void)at;
	(void)kind;
	assert_true(refs->n < N_ELEMS(refs->targets));
	refs->targets[refs->n++] = target;
}

static void test_scan_refs(void **state)
{
	struct refs branches = { .n = 0 }, addresses = { .n = 0 };
	uint8_t code[64];
	/* b, bl, beq, addpcis r3 and addi r3, pla, bctr */
	size_t len = p64_parse("48000100 48000101 41820010 4c600005 38630010 06100000 38600100 "
			       "4e800420",
			       code);

	(void)state;
	p64_arch()->insn.scan_refs(code, len, A, REF_BRANCH, note_ref, &branches);
	p64_arch()->insn.scan_refs(code, len, A, REF_ADDRESS | REF_SHORT, note_ref, &addresses);
	assert_int_equal(branches.n, 3);
	assert_int_equal(branches.targets[0], A + 0x100);
	assert_int_equal(branches.targets[1], A + 0x104);
	assert_int_equal(branches.targets[2], A + 0x18);
	assert_int_equal(addresses.n, 2);
	assert_int_equal(addresses.targets[0], A + 0x10010 + 16);
	assert_int_equal(addresses.targets[1], A + 0x114);
}

/* As Go 1.19 begins functions, with a small frame and a larger one. */
static void test_go_check(void **state)
{
	uint8_t code[64];
	size_t len = p64_parse("eade0010 7c360840 41800010 7ca802a6", code);

	(void)state;
	assert_int_equal(p64_arch()->insn.go_check_len(code, len), 12);
	assert_int_equal(p64_arch()->insn.go_check_len(code, 12), 0);
	len = p64_parse("eade0010 3ae1fd18 7c36b840 41800060", code);
	assert_int_equal(p64_arch()->insn.go_check_len(code, len), 16);
	len = p64_parse("eade0010 3ae1fd18 7c360840 41800060", code);
	assert_int_equal(p64_arch()->insn.go_check_len(code, len), 0);
}

/* Random words: what is accepted fits a slot, and is left from everywhere in it. */
static void test_random(void **state)
{
	uint64_t x = 88172645463325252;
	unsigned n_accepted = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct ubp_regs regs = { .r = { 0 } };
		struct displaced_insn insn;
		struct slot_code code;
		struct ubp_err err;
		uint8_t bytes[8];
		int rc;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(bytes, &x, sizeof(bytes));
		ubp_err_reset(&err);
		rc = p64_arch()->insn.analyze(bytes, sizeof(bytes), A, &insn, &err);
		assert_true(rc == 0 || rc == -EILSEQ || rc == -EOPNOTSUPP);
		if (rc < 0)
			continue;
		n_accepted++;
		rc = p64_arch()->slot.build(&insn, S, &code, &err);
		if (rc == 0)
			assert_in_range(code.len, 4, UBP_SLOT_SIZE);
		else
			assert_true(rc == -ERANGE &&
				    (insn.form == PPC64EL_B || insn.form == PPC64EL_BL ||
				     insn.form == PPC64EL_RELATIVE));
		for (uint64_t at = 0; rc == 0 && at < code.len; at += 4) {
			regs.r[PPC64EL_NIP] = S + at;
			(void)p64_arch()->slot.leave(&insn, &code, S, &regs);
			assert_true(regs.r[PPC64EL_NIP] - S >= code.len);
		}
	}
	assert_true(n_accepted > 100000);
}

int main(void)
{
	struct CMUnitTest all[N_ELEMS(vectors)];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),   cmocka_unit_test(test_leave),
		cmocka_unit_test(test_is_taken),   cmocka_unit_test(test_move),
		cmocka_unit_test(test_slot_leave), cmocka_unit_test(test_window),
		cmocka_unit_test(test_refuse_at),  cmocka_unit_test(test_scan_refs),
		cmocka_unit_test(test_go_check),   cmocka_unit_test(test_random),
	};

	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		all[i] = (struct CMUnitTest){ .name = vectors[i].what,
					      .test_func = check_vector,
					      .initial_state = (void *)&vectors[i] };
	return cmocka_run_group_tests_name("slots", all, NULL, NULL) +
	       cmocka_run_group_tests_name("others", tests, NULL, NULL);
}
