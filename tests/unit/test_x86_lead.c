/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Leads: what is known of first instructions, which probes they suit; and that detours behind them
 * do all that they do elsewhere: their tests are run with one in front of each window.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/detour.h"
#include "arch/x86/regs.h"
#include "engine/base/err.h"
#include "engine/fetch/fetch.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_again.h"

#define BIT(reg) (1u << (reg))
#define FLAGS    BIT(X86_FLAGS)

struct vector {
	const char *what;
	unsigned bits;
	uint8_t code[16];
	uint8_t len; /* of the lead; 0: none */
	uint32_t sp_down, sets;
	bool is_push, stores, sets_kept;
};

#define NOP10 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0

static const struct vector vectors[] = {
	{ .what = "push %rbp",
	  .bits = 64,
	  .code = { 0x55 },
	  .len = 1,
	  .sp_down = 8,
	  .is_push = true },
	{ .what = "push %r12",
	  .bits = 64,
	  .code = { 0x41, 0x54 },
	  .len = 2,
	  .sp_down = 8,
	  .is_push = true },
	{ .what = "push $2",
	  .bits = 32,
	  .code = { 0x6a, 2 },
	  .len = 2,
	  .sp_down = 4,
	  .is_push = true },
	{ .what = "sub $24,%rsp",
	  .bits = 64,
	  .code = { 0x48, 0x83, 0xec, 24 },
	  .len = 4,
	  .sp_down = 24,
	  .sets = FLAGS },
	{ .what = "sub $0x208,%rsp",
	  .bits = 64,
	  .code = { 0x48, 0x81, 0xec, 8, 2, 0, 0 },
	  .len = 7,
	  .sp_down = 0x208,
	  .sets = FLAGS },
	{ .what = "add $-128,%rsp",
	  .bits = 64,
	  .code = { 0x48, 0x83, 0xc4, 0x80 },
	  .len = 4,
	  .sp_down = 128,
	  .sets = FLAGS },
	{ .what = "lea -8(%rsp),%rsp",
	  .bits = 64,
	  .code = { 0x48, 0x8d, 0x64, 0x24, 0xf8 },
	  .len = 5,
	  .sp_down = 8 },
	{ .what = "sub $12,%esp",
	  .bits = 32,
	  .code = { 0x83, 0xec, 12 },
	  .len = 3,
	  .sp_down = 12,
	  .sets = FLAGS },
	{ .what = "sub $12,%esp cuts it", .bits = 64, .code = { 0x83, 0xec, 12 } },
	{ .what = "add $24,%rsp is an end", .bits = 64, .code = { 0x48, 0x83, 0xc4, 24 } },
	{ .what = "mov %rbx,%rsp", .bits = 64, .code = { 0x48, 0x89, 0xdc } },
	{ .what = "pop %rax", .bits = 64, .code = { 0x58 } },
	{ .what = "endbr64", .bits = 64, .code = { 0xf3, 0x0f, 0x1e, 0xfa }, .len = 4 },
	{ .what = "endbr32", .bits = 32, .code = { 0xf3, 0x0f, 0x1e, 0xfb }, .len = 4 },
	{ .what = "rdssp %rax", .bits = 64, .code = { 0xf3, 0x48, 0x0f, 0x1e, 0xc8 } },
	{ .what = "nop", .bits = 64, .code = { 0x90, 0x55 }, .len = 1 },
	{ .what = "nop5", .bits = 64, .code = { 0x0f, 0x1f, 0x44, 0, 0, 0x55 }, .len = 5 },
	{ .what = "nop, nop5",
	  .bits = 64,
	  .code = { 0x90, 0x0f, 0x1f, 0x44, 0, 0, 0x55 },
	  .len = 6 },
	{ .what = "nop, nop10", .bits = 64, .code = { 0x90, NOP10, 0x55 }, .len = 11 },
	{ .what = "xchg %eax,%r8d is no nop", .bits = 64, .code = { 0x41, 0x90 } },
	{ .what = "xor %eax,%eax",
	  .bits = 64,
	  .code = { 0x31, 0xc0 },
	  .len = 2,
	  .sets = BIT(X86_AX) | FLAGS },
	{ .what = "mov %rdi,%rbx",
	  .bits = 64,
	  .code = { 0x48, 0x89, 0xfb },
	  .len = 3,
	  .sets = BIT(X86_BX) | FLAGS,
	  .sets_kept = true },
	{ .what = "mov (%rdi),%r10",
	  .bits = 64,
	  .code = { 0x4c, 0x8b, 0x17 },
	  .len = 3,
	  .sets = BIT(X86_R10) | FLAGS },
	{ .what = "mov $1,%ah",
	  .bits = 64,
	  .code = { 0xb4, 1 },
	  .len = 2,
	  .sets = BIT(X86_AX) | FLAGS },
	{ .what = "mov $1,%spl", .bits = 64, .code = { 0x40, 0xb4, 1 } },
	{ .what = "mov %eax,(%rdi)",
	  .bits = 64,
	  .code = { 0x89, 0x07 },
	  .len = 2,
	  .sets = FLAGS,
	  .stores = true },
	{ .what = "movq %xmm0,%xmm1",
	  .bits = 64,
	  .code = { 0x66, 0x0f, 0xd6, 0xc1 },
	  .len = 4,
	  .sets = FLAGS },
	{ .what = "movq2dq %mm1,%xmm0", .bits = 64, .code = { 0xf3, 0x0f, 0xd6, 0xc1 } },
	{ .what = "movdq2q %xmm1,%mm0", .bits = 64, .code = { 0xf2, 0x0f, 0xd6, 0xc1 } },
	{ .what = "test %rdi,%rdi",
	  .bits = 64,
	  .code = { 0x48, 0x85, 0xff },
	  .len = 3,
	  .sets = FLAGS },
	{ .what = "cmpl $-1,8(%rdi)",
	  .bits = 64,
	  .code = { 0x83, 0x7f, 8, 0xff },
	  .len = 4,
	  .sets = FLAGS },
	{ .what = "movzbl (%rdi),%ecx",
	  .bits = 64,
	  .code = { 0x0f, 0xb6, 0x0f },
	  .len = 3,
	  .sets = BIT(X86_CX) | FLAGS },
	{ .what = "inc %ebx",
	  .bits = 32,
	  .code = { 0x43 },
	  .len = 1,
	  .sets = BIT(X86_BX) | FLAGS,
	  .sets_kept = true },
	{ .what = "pxor %xmm0,%xmm0",
	  .bits = 64,
	  .code = { 0x66, 0x0f, 0xef, 0xc0 },
	  .len = 4,
	  .sets = FLAGS },
	{ .what = "lock addl $1,(%rdi)", .bits = 64, .code = { 0xf0, 0x83, 0x07, 1 } },
	{ .what = "rep movsb", .bits = 64, .code = { 0xf3, 0xa4 } },
	{ .what = "call", .bits = 64, .code = { 0xe8, 0, 0, 0, 0 } },
	{ .what = "jmp", .bits = 64, .code = { 0xeb, 0 } },
	{ .what = "je", .bits = 64, .code = { 0x74, 0 } },
	{ .what = "ret", .bits = 64, .code = { 0xc3 } },
	{ .what = "syscall", .bits = 64, .code = { 0x0f, 0x05 } },
	{ .what = "int3", .bits = 64, .code = { 0xcc } },
	{ .what = "mov (%esp),%ebx reads its return address",
	  .bits = 32,
	  .code = { 0x8b, 0x1c, 0x24 } },
};

static const struct ubp_arch *arch_of(unsigned bits)
{
	return ubp_arch_by_name(bits == 64 ? "x86_64" : "i386");
}

static void leads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		struct lead lead;
		bool is_one = arch_of(v->bits)->lead.find(v->code, sizeof(v->code), &lead);

		if (is_one != (v->len != 0))
			fail_msg("%s is %s lead", v->what, is_one ? "a" : "no");
		if (!is_one)
			continue;
		if (lead.len != v->len || lead.sp_down != v->sp_down || lead.sets != v->sets ||
		    lead.is_push != v->is_push || lead.stores != v->stores ||
		    lead.sets_kept != v->sets_kept)
			fail_msg("%s: %u bytes, stack pointer %u down, sets 0x%" PRIx64
				 ", push %d, stores %d, sets kept ones %d",
				 v->what, lead.len, lead.sp_down, lead.sets, lead.is_push,
				 lead.stores, lead.sets_kept);
		assert_memory_equal(lead.bytes, v->code, v->len);
	}
}

static bool suits(const char *code, size_t len, bool is_return, const char *args, bool stacks)
{
	struct fetch_program *program;
	struct probe_make make;
	struct ubp_err err;
	struct lead lead;
	bool good;

	ubp_err_reset(&err);
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &program, &err), 0);
	assert_true(arch_of(64)->lead.find((const uint8_t *)code, len, &lead));
	good = lead_suits(&lead, program, is_return ? PROBE_RETURN : PROBE_ENTRY, stacks);
	free(program);
	return good;
}

static void who_is_suited(void **state)
{
	static const char push[] = "\x55\x90", mov[] = "\x48\x89\xfb\x90",   /* %rdi to %rbx */
		store[] = "\x89\x07\x90", vector[] = "\x66\x0f\xef\xff\x90"; /* xmm7 */

	(void)state;
	assert_true(suits(push, 2, false, "%di $stack0 +8(%sp) %bp", true));
	assert_true(suits(mov, 4, false, "%di +0(%si):string", false));
	assert_false(suits(mov, 4, false, "%bx", false));
	assert_false(suits(mov, 4, false, "+0(%bx):string", false));
	assert_false(suits(mov, 4, false, "%flags", false));
	assert_false(suits(mov, 4, false, "%di", true)); /* callers' frames want it */
	assert_true(suits(mov, 4, true, "%bx", false));  /* the caller's by then */
	assert_true(suits(store, 3, false, "%di %sp", false));
	assert_false(suits(store, 3, false, "+0(%di)", false));
	assert_false(suits(store, 3, false, "$stack0", false));
	assert_false(suits(vector, 5, false, "%xmm7:f64", false));
	assert_true(suits(vector, 5, false, "%xmm6:f64", false));
}

static void undone(void **state)
{
	static const uint8_t push[] = { 0x55, 0x90 };
	struct ubp_regs regs = { { 0 } };
	struct lead lead;

	(void)state;
	assert_true(arch_of(64)->lead.find(push, sizeof(push), &lead));
	regs.r[X86_SP] = 0x7ffffffe0000;
	lead_undo(arch_of(64), &lead, 0x401000, &regs);
	assert_true(regs.r[X86_SP] == 0x7ffffffe0008 && regs.r[X86_IP] == 0x401000);
	assert_true(arch_of(32)->lead.find(push, sizeof(push), &lead));
	regs.r[X86_SP] = 0xfffffffc;
	lead_undo(arch_of(32), &lead, 0x401000, &regs);
	assert_true(regs.r[X86_SP] == 0);
}

/* --- what others put there --------------------------------------------------------------- */

static void stands(void **state)
{
	static const uint8_t two[] = { 0x90, NOP10, 0x55 };
	const struct ubp_arch *arch = arch_of(64);
	uint8_t now[sizeof(two)];
	struct lead lead;

	(void)state;
	assert_true(arch->lead.find(two, sizeof(two), &lead));
	memcpy(now, two, sizeof(now));
	assert_true(arch->lead.stands(&lead, now));
	now[0] = 0xcc;
	assert_true(arch->lead.stands(&lead, now));
	now[1] = 0xcc;
	assert_true(arch->lead.stands(&lead, now));
	memcpy(now + 1, "\x48\x8d\x64\x24\x80\xe8\x01\x02\x03\x04", 10);
	assert_true(arch->lead.stands(&lead, now));
	now[1] = 0x90;
	assert_false(arch->lead.stands(&lead, now));
	memcpy(now, two, sizeof(now));
	now[2] = 0xcc;
	assert_false(arch->lead.stands(&lead, now));
	assert_true(arch->lead.find((const uint8_t *)"\x0f\x1f\x44\0\0\x55", 6, &lead));
	assert_true(arch->lead.stands(&lead, (const uint8_t *)"\xe8\1\2\3\4"));
	assert_false(arch->lead.stands(&lead, (const uint8_t *)"\xe9\1\2\3\4"));
}

/* --- the tests of detours, once more ------------------------------------------------------- */

#ifdef __x86_64__

static void detours_behind(void **state)
{
	static const char *const tests[] = { "test_detour_ways", "test_detour_return",
					     "test_detour_stack", "test_detour_time",
					     "test_x86_detour_return" };
	char i386[64];

	(void)state;
	/* Most of it runs in generated code, which no sanitizer sees. */
	if (IS_SANITIZED && !getenv("UBP_ALL"))
		skip();
	setenv("UBP_SLOWER", "20", 1);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		snprintf(i386, sizeof(i386), "%s_i386", tests[i]);
		run_again("UBP_LAB_LEAD=push", tests[i]);
		run_again("UBP_LAB_LEAD=push", i386);
	}
	/* Random programs read below the stack pointer, too, where a push has been. */
	run_again("UBP_LAB_LEAD=lea", "test_x86_detour");
	run_again("UBP_LAB_LEAD=lea", "test_x86_detour_i386");
}

#else

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
		cmocka_unit_test(undone),         cmocka_unit_test(stands),
		cmocka_unit_test(detours_behind),
	};

	return cmocka_run_group_tests_name("x86_lead", tests, NULL, NULL);
}
