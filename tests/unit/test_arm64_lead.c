/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Leads of arm64: what is known of first instructions, which probes they suit; that they do what is said,
 * by carrying them out; and that detours behind them do all that they do elsewhere: their tests are
 * run with one in front of each window.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/detour.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"
#include "engine/fetch/fetch.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_again.h"

#define BIT(reg) (1ULL << (reg))
#define FLAGS    BIT(ARM64_PSTATE)
#define LINK     BIT(ARM64_X30)

struct vector {
	const char *what;
	uint32_t word;
	bool is_none;
	uint32_t sp_down;
	uint64_t sets;
	uint32_t sets_vectors;
	bool is_push, stores, uses_link;
};

static const struct vector vectors[] = {
	{ "nop", 0xd503201f, .sets = 0 },
	{ "bti c", 0xd503245f, .sets = 0 },
	{ "bti jc", 0xd50324df, .sets = 0 },
	{ "paciasp", 0xd503233f, .sets = LINK, .uses_link = true },
	{ "pacibsp", 0xd503237f, .sets = LINK, .uses_link = true },
	{ "autiasp", 0xd50323bf, .is_none = true },
	{ "wfi", 0xd503207f, .is_none = true },
	{ "esb", 0xd503221f, .is_none = true },
	{ "dmb ish", 0xd5033bbf, .is_none = true },
	{ "svc #0", 0xd4000001, .is_none = true },
	{ "msr tpidr_el0, x0", 0xd51bd040, .is_none = true },
	{ "mrs x1, tpidr_el0", 0xd53bd041, .sets = BIT(1) | FLAGS },
	{ "stp x29, x30, [sp, #-48]!", 0xa9bd7bfd, .sp_down = 48, .is_push = true, .sets = LINK,
	  .uses_link = true },
	{ "stp x19, x20, [sp, #-32]!", 0xa9be53f3, .sp_down = 32, .is_push = true },
	{ "stp d8, d9, [sp, #-64]!", 0x6dbc27e8, .sp_down = 64, .is_push = true },
	{ "str x19, [sp, #-16]!", 0xf81f0ff3, .sp_down = 16, .is_push = true },
	{ "str x30, [sp, #-16]!", 0xf81f0ffe, .sp_down = 16, .is_push = true, .sets = LINK,
	  .uses_link = true },
	{ "str q8, [sp, #-32]!", 0x3c9e0fe8, .sp_down = 32, .is_push = true },
	{ "str q8, [sp, #-8]! stores above it", 0x3c9f8fe8, .is_none = true },
	{ "stp x29, x30, [sp], #-16", 0xa8bf7bfd, .is_none = true },
	{ "ldp x29, x30, [sp], #16", 0xa8c17bfd, .is_none = true },
	{ "sub sp, sp, #32", 0xd10083ff, .sp_down = 32 },
	{ "sub sp, sp, #8, lsl #12", 0xd14023ff, .sp_down = 0x8000 },
	{ "add sp, sp, #32", 0x910083ff, .is_none = true },
	{ "sub sp, x29, #32", 0xd10083bf, .is_none = true },
	{ "sub wsp, wsp, #32", 0x510083ff, .is_none = true },
	{ "mov sp, x0", 0x9100001f, .is_none = true },
	{ "and sp, x0, #-16", 0x927cec1f, .is_none = true },
	{ "sub sp, sp, x0", 0xcb2063ff, .is_none = true },
	{ "mov x19, x0", 0xaa0003f3, .sets = BIT(19) | FLAGS },
	{ "mov x9, x30", 0xaa1e03e9, .sets = BIT(9) | LINK | FLAGS, .uses_link = true },
	{ "mov w0, #1", 0x52800020, .sets = BIT(0) | FLAGS },
	{ "movk x8, #1, lsl #16", 0xf2a00028, .sets = BIT(8) | FLAGS },
	{ "adrp x16, .", 0x90000010, .sets = BIT(16) | FLAGS },
	{ "cmp w0, #5", 0x7100141f, .sets = FLAGS },
	{ "tst x0, #1", 0xf240001f, .sets = FLAGS },
	{ "cmp x0, x1", 0xeb01001f, .sets = FLAGS },
	{ "uxtb w3, w3", 0x53001c63, .sets = BIT(3) | FLAGS },
	{ "madd x0, x1, x2, x30", 0x9b027820, .sets = BIT(0) | LINK | FLAGS,
	  .uses_link = true },
	{ "ldr x1, [x0, #8]", 0xf9400401, .sets = BIT(1) | FLAGS },
	{ "ldp x2, x3, [x0]", 0xa9400c02, .sets = BIT(2) | BIT(3) | FLAGS },
	{ "ldr x1, [x0], #8", 0xf8408401, .sets = BIT(0) | BIT(1) | FLAGS },
	{ "ldrb w1, [x0, x2]", 0x38626801, .sets = BIT(1) | FLAGS },
	{ "ldrsw x1, [x0]", 0xb9800001, .sets = BIT(1) | FLAGS },
	{ "ldr x2, .+8", 0x58000042, .sets = BIT(2) | FLAGS },
	{ "ldr q1, [x0]", 0x3dc00001, .sets = FLAGS, .sets_vectors = 2 },
	{ "ldp d2, d3, [x0]", 0x6d400c02, .sets = FLAGS, .sets_vectors = 12 },
	{ "prfm pldl1keep, [x0]", 0xf9800000, .sets = FLAGS },
	{ "str x1, [x0]", 0xf9000001, .sets = FLAGS, .stores = true },
	{ "strb wzr, [x0], #1", 0x3800141f, .sets = BIT(0) | FLAGS, .stores = true },
	{ "str x30, [x18], #8", 0xf800865e, .sets = BIT(18) | LINK | FLAGS, .stores = true,
	  .uses_link = true },
	{ "ldaxr w0, [x1]", 0x885ffc20, .is_none = true },
	{ "ldadd x0, x1, [x2]", 0xf8200041, .is_none = true },
	{ "cbz x0, .+8", 0xb4000040, .is_none = true },
	{ "b .+8", 0x14000002, .is_none = true },
	{ "ret", 0xd65f03c0, .is_none = true },
	{ "fmov x0, d1", 0x9e660020, .sets = BIT(0) | FLAGS, .sets_vectors = 1 },
	{ "movi v4.2d, #0", 0x6f00e404, .sets = BIT(4) | FLAGS, .sets_vectors = 16 },
	{ "brk #0", 0xd4200000, .is_none = true },
	{ "udf #0", 0, .is_none = true },
};

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

static bool find(uint32_t word, struct lead *lead)
{
	uint8_t code[2 * ARM64_INSN];

	insn_put_word(code, word);
	insn_put_word(code + ARM64_INSN, ARM64_RET);
	return arch()->lead.find(code, sizeof(code), lead);
}

static void leads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		struct lead lead;
		bool is_one = find(v->word, &lead);

		if (is_one == v->is_none)
			fail_msg("%s is %s lead", v->what, is_one ? "a" : "no");
		if (!is_one)
			continue;
		if (lead.len != 4 || lead.sp_down != v->sp_down || lead.sets != v->sets ||
		    lead.sets_vectors != v->sets_vectors || lead.is_push != v->is_push ||
		    lead.stores != v->stores || lead.uses_link != v->uses_link)
			fail_msg("%s: len %u, down %u, sets 0x%llx and 0x%x, push %d, stores "
				 "%d, "
				 "link %d",
				 v->what, lead.len, lead.sp_down, (unsigned long long)lead.sets,
				 lead.sets_vectors, lead.is_push, lead.stores, lead.uses_link);
	}
	assert_false(
		arch()->lead.find((const uint8_t *)"\x1f\x20\x03", 3, &(struct lead){ 0 }));
}

static bool suits(uint32_t word, bool is_return, const char *args, bool stacks)
{
	struct fetch_program *program;
	struct probe_make make;
	struct ubp_err err;
	struct lead lead;
	bool good;

	ubp_err_reset(&err);
	probe_make_for(arch());
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &program, &err), 0);
	assert_true(find(word, &lead));
	good = lead_suits(&lead, program, is_return ? PROBE_RETURN : PROBE_ENTRY, stacks);
	free(program);
	return good;
}

static void who_is_suited(void **state)
{
	const uint32_t push = 0xa9be53f3, link = 0xa9bd7bfd, sign = 0xd503233f,
		       cmp = 0x7100141f;

	(void)state;
	assert_true(suits(push, false, "%x0 %sp +0(%x1) $stack1 %lr", true));
	assert_true(suits(push, true, "$retval", false));
	assert_true(suits(link, false, "%x0 %sp +0(%x1) $stack1", true));
	assert_false(suits(link, false, "%lr", false));
	/* The return address is stored, or signed, before it could be replaced. */
	assert_false(suits(link, true, "$retval", false));
	assert_false(suits(sign, true, "$retval", false));
	assert_false(suits(0xaa1e03e9, true, "$retval", false));
	assert_true(suits(0xd503245f, true, "$retval", true));
	assert_true(suits(sign, false, "%x0", false));
	assert_false(suits(sign, false, "%lr", false));
	assert_false(suits(sign, false, "%x0", true));
	assert_true(suits(cmp, false, "%x0", true));
	assert_false(suits(cmp, false, "%pstate", false));
	assert_false(suits(0xaa0003f3, false, "%x19", false));
	assert_false(suits(0xaa0003f3, false, "%x0", true)); /* callers' frames want it */
	assert_true(suits(0xaa0003f3, true, "%x19", false)); /* the caller's by then */
	assert_false(suits(0xf9000001, false, "+0(%x0)", false));
	assert_false(suits(0x3dc00001, false, "%v1:f64", false));
	assert_true(suits(0x3dc00001, false, "%v2:f64", false));
}

static void stands(void **state)
{
	struct lead lead;
	uint8_t now[ARM64_INSN];

	(void)state;
	assert_true(find(0xa9be53f3, &lead));
	assert_true(arch()->lead.stands(&lead, lead.bytes));
	insn_put_word(now, 0xd42000a0); /* the kernel's */
	assert_true(arch()->lead.stands(&lead, now));
	insn_put_word(now, 0xd503201f);
	assert_false(arch()->lead.stands(&lead, now));
	insn_put_word(now, 0xa9be53f4);
	assert_false(arch()->lead.stands(&lead, now));
}

#ifdef __aarch64__

#include <signal.h>

#include "tests/unit/arm64_run.h"

/* --- they do what is said ------------------------------------------------------------------ */

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 32);
}

/* Somewhere in memory: registers point to the middle of the data, but for every fourth one. */
static void make_regs(uint64_t seed, struct run_regs *regs)
{
	run_random(seed, regs);
	run_random_memory(seed);
	for (int i = 0; i < 31; i++)
		if (i % 4)
			regs->x[i] = RUN_DATA + RUN_DATA_SIZE / 2 + 16 * (unsigned)i;
	regs->pc = RUN_CODE;
}

static void expect(uint32_t word, const struct lead *lead, const struct run_regs *before,
		   const struct run_end *end, const uint8_t *data, const uint8_t *stack)
{
	uint64_t low = before->sp - lead->sp_down - RUN_STACK;

	for (unsigned i = 0; i < 31; i++)
		if (end->regs.x[i] != before->x[i] && !(lead->sets >> i & 1))
			fail_msg("%08x sets x%u: 0x%llx, was 0x%llx", word, i,
				 (unsigned long long)end->regs.x[i],
				 (unsigned long long)before->x[i]);
	for (unsigned i = 0; i < 32; i++)
		if (memcmp(&end->regs.v[i], &before->v[i], sizeof(before->v[i])) != 0 &&
		    !(lead->sets_vectors >> i & 1))
			fail_msg("%08x sets v%u", word, i);
	if (end->regs.sp != before->sp - lead->sp_down)
		fail_msg("%08x moves sp by %lld", word, (long long)(end->regs.sp - before->sp));
	if (end->regs.pstate != before->pstate && !(lead->sets & FLAGS))
		fail_msg("%08x sets flags", word);
	if (!lead->stores && memcmp((void *)RUN_DATA, data, RUN_DATA_SIZE) != 0)
		fail_msg("%08x stores", word);
	/* A push stores below what the stack pointer was, and nothing else does. */
	if (lead->stores)
		return;
	if (memcmp(end->stack + low + lead->sp_down, stack + low + lead->sp_down,
		   RUN_STACK_SIZE - low - lead->sp_down) != 0)
		fail_msg("%08x stores above the stack pointer", word);
	if (memcmp(end->stack, stack, lead->is_push ? low : low + lead->sp_down) != 0)
		fail_msg("%08x stores below it", word);
}

static void do_what_is_said(void **state)
{
	/* Classes that have leads, and what makes their registers likely ones. */
	static const uint32_t bases[] = { 0x10000000, 0x11000000, 0x12000000, 0x0a000000,
					  0x1a000000, 0x0e000000, 0x1e000000, 0x28000000,
					  0x38000000, 0x18000000, 0xd5000000, 0x0b000000,
					  0x1b000000, 0x2c000000, 0x3c000000 };
	/* stp, of both kinds of registers; str; sub: of the stack pointer. */
	static const struct {
		uint32_t base, more;
	} pushes[] = { { 0xa9a003e0, 0x1f7c1f },
		       { 0x6da003e0, 0x1f7c1f },
		       { 0xf8100fe0, 0x0ff01f },
		       { 0xd10003ff, 0x3ffc00 } };
	static uint8_t data[RUN_DATA_SIZE], stack[RUN_STACK_SIZE];
	static struct run_end end;
	unsigned tried = 0, n = 0, n_down = 0;
	struct run_regs before;
	uint64_t seed = 17;

	(void)state;
	assert_int_equal(run_begin(NULL, 0), 0);
	for (unsigned i = 0; i < 6000; i++) {
		uint32_t base = bases[i % (sizeof(bases) / sizeof(bases[0]))];
		uint32_t word = (next_random(&seed) & 0xe1ffffff) | base;
		struct lead lead;

		if (i % 5 == 0)
			word |= 31 << 5; /* the stack pointer is a base */
		if (i % 8 == 0)
			word = pushes[i / 8 % 4].base | (word & pushes[i / 8 % 4].more);
		if (!find(word, &lead) || lead.sp_down >= RUN_STACK_SIZE / 4)
			continue;
		tried++;
		make_regs(i + 1, &before);
		memcpy(data, (void *)RUN_DATA, sizeof(data));
		memcpy(stack, (void *)RUN_STACK, sizeof(stack));
		run_write_word(RUN_CODE, word);
		run_write_word(RUN_CODE + ARM64_INSN, 0xd4200000);
		assert_int_equal(run_take_signals(), 0);
		run_code(&before, &end);
		if (end.signo != SIGTRAP)
			continue; /* it is none after all, or reads what is not there */
		assert_true(end.regs.pc == RUN_CODE + ARM64_INSN);
		n++;
		n_down += lead.sp_down != 0;
		expect(word, &lead, &before, &end, data, stack);
	}
	print_message("%u of %u were carried out, %u moved the stack pointer\n", n, tried,
		      n_down);
	assert_true(n > 500 && n_down > 100);
}

/* --- the tests of detours, once more ------------------------------------------------------- */

static void detours_behind(void **state)
{
	static const char *const tests[] = { "test_detour_ways", "test_detour_return",
					     "test_detour_stack", "test_detour_time",
					     "test_arm64_detour" };

	(void)state;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		run_again("UBP_LAB_LEAD=push", tests[i]);
		run_again("UBP_LAB_LEAD=sub", tests[i]);
	}
}

#else

static void do_what_is_said(void **state)
{
	(void)state;
	skip();
}

static void detours_behind(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leads),          cmocka_unit_test(who_is_suited),
		cmocka_unit_test(stands),         cmocka_unit_test(do_what_is_said),
		cmocka_unit_test(detours_behind),
	};

	return cmocka_run_group_tests_name("arm64_lead", tests, NULL, NULL);
}
