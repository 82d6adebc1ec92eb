/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Detours at ret instructions: what may be in a run-up, and that the return is told as its caller finds it. */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "tests/unit/return_lab.h"
#include "tests/unit/x86_lab.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define FRAME      0x20 /* bytes that the run-up gives back */
#define SAVED      0x123456789abcdef0ull

/* mov 0x18(%rsp),%rbp; lea 0x20(%rsp),%rsp: as Go's functions end, but that the flags stay. */
static const uint8_t code[] = { 0x48, 0x8b, 0x6c, 0x24, 0x18, 0x48, 0x8d, 0x64, 0x24, FRAME };

static struct window run_up;
static const struct lead pops = { .sp_down = 8 };
static struct run_regs at_jump;
static struct run_end end;

static void runs_anywhere(void **state)
{
	static const struct {
		const char *code;
		bool may;
	} insns[] = {
		{ "\x48\x8b\x6c\x24\x18", true },                 /* mov 0x18(%rsp),%rbp */
		{ "\x48\x8b\xac\x24\x80\x01\x00\x00", true },     /* mov 0x180(%rsp),%rbp */
		{ "\x48\x83\xc4\x20", true },                     /* add $0x20,%rsp */
		{ "\x48\x81\xc4\x88\x00\x00\x00", true },         /* add $0x88,%rsp */
		{ "\x5d", true },                                 /* pop %rbp */
		{ "\x41\x5c", true },                             /* pop %r12 */
		{ "\xb8\x01\x00\x00\x00", true },                 /* mov $1,%eax */
		{ "\x31\xc0", true },                             /* xor %eax,%eax */
		{ "\x48\x8d\x04\x0b", true },                     /* lea (%rbx,%rcx),%rax */
		{ "\x0f\xb6\x44\x24\x08", true },                 /* movzbl 8(%rsp),%eax */
		{ "\xf2\x0f\x10\x44\x24\x08", true },             /* movsd 8(%rsp),%xmm0 */
		{ "\x48\x89\x44\x24\x08", true },                 /* mov %rax,8(%rsp) */
		{ "\x48\x8b\x04\xcc", false },                    /* mov (%rsp,%rcx,8),%rax */
		{ "\x49\x8b\x44\x24\x18", false },                /* mov 0x18(%r12),%rax */
		{ "\x48\x8b\x40\x18", false },                    /* mov 0x18(%rax),%rax */
		{ "\x48\x8b\x05\x00\x01\x00\x00", false },        /* mov 0x100(%rip),%rax */
		{ "\x48\x8d\x05\x00\x01\x00\x00", false },        /* lea 0x100(%rip),%rax */
		{ "\x64\x48\x8b\x04\x24", false },                /* mov %fs:(%rsp),%rax */
		{ "\xe8\x00\x01\x00\x00", false },                /* call */
		{ "\xeb\x10", false },                            /* jmp */
		{ "\x75\x10", false },                            /* jne */
		{ "\xff\xe0", false },                            /* jmp *%rax */
		{ "\xc3", false },                                /* ret */
		{ "\xc9", false },                                /* leave */
		{ "\x0f\x05", false },                            /* syscall */
		{ "\x48\xf7\xf9", false },                        /* idiv %rcx */
		{ "\x50", false },                                /* push %rax */
		{ "\xc7\xf8\x00\x00\x00\x00", false },            /* xbegin */
		{ "\xf0\x48\x01\x04\x24", false },                /* lock add %rax,(%rsp) */
	};
	const struct arch_jump *jump = &lab.arch->jump;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(insns); i++) {
		uint8_t bytes[UBP_INSN_MAX] = { 0 };
		struct displaced_insn insn;
		struct ubp_err err;

		/* Some have a NUL in them. */
		memcpy(bytes, insns[i].code, 1 + strlen(insns[i].code));
		ubp_err_reset(&err);
		if (lab.arch->insn.analyze(bytes, sizeof(bytes), LAB_SITE, &insn, &err) < 0)
			assert_false(insns[i].may);
		else if (jump->runs_anywhere(&insn) != insns[i].may)
			fail_msg("%s: %d", lab.arch->insn.text(&insn).s, !insns[i].may);
	}
}

static void analyze(struct window *w, const uint8_t *bytes, size_t len, uint64_t vaddr)
{
	struct ubp_err err;

	*w = (struct window){ 0 };
	while (w->len < len) {
		ubp_err_reset(&err);
		assert_int_equal(lab.arch->insn.analyze(bytes + w->len, len - w->len,
							vaddr + w->len, &w->insns[w->n], &err),
				 0);
		w->len = (uint8_t)(w->len + w->insns[w->n++].len);
	}
	w->jump_len = w->len;
}

static int begin(void **state)
{
	const uint64_t saved = SAVED;

	start(state);
	analyze(&run_up, code, sizeof(code), LAB_SITE);
	analyze(&lab.window, (const uint8_t *)"\xc3", 1, LAB_SITE + sizeof(code));
	lab.plan.run_up = &run_up;
	lab.plan.lead = &pops;
	lab.plan.then = NULL;
	at_jump = before;
	at_jump.gpr[SP] -= FRAME;
	after.gpr[BP] = SAVED;
	run_write(at_jump.gpr[SP] + 0x18, &saved, sizeof(saved));
	lab_set_probe(0, true, "v=$retval s=%sp b=%bp p=%ip c=%di:s64 top=+0(%sp):x64", NULL);
	lab_set_probe(1, true, "t=+0(%si):string", NULL);
	return 0;
}

static void is_told_as_the_caller_finds_it(void **state)
{
	uint64_t at = lab.thread->head;

	(void)state;
	for (unsigned n = 1; n <= 2; n++) {
		lab_build_set(n);
		lab_run(&at_jump, &end);
		assert_int_equal(lab_trap(&end), -1);
		assert_true(lab_came_home(&end));
		lab_assert_kept("at a ret", &after, NULL, &end);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(lab_record_at(at)->ret, LAB_HOME);
			assert_int_equal(lab_record_at(at)->vaddr, lab.plan.site);
			at = lab_expect_record(at, i, &after);
		}
		lab_expect_nothing(at);
	}
}

/* What only a stop tells: the trap is met as the caller finds it, then the ret is carried out. */
static void takes_its_trap(void **state)
{
	struct run_end home;

	(void)state;
	lab_build_set(2);
	*lab.gate = RING_GATE_TRAP;
	lab_run(&at_jump, &end);
	assert_int_equal(lab_trap(&end), 0);
	lab_assert_kept("at its trap", &after, NULL, &end);
	lab_run_at(end.pc, &end.regs, &home);
	assert_int_equal(lab_trap(&home), -1);
	assert_true(lab_came_home(&home));
	lab_assert_kept("behind its trap", &after, NULL, &home);
}

static void scribble(struct ubp_regs *regs, void *arg)
{
	unsigned *n = arg;

	lab_scribble_below(regs->r[lab.arch->reg.sp]);
	++*n;
}

/* A handler may come at any instruction, and leave what it likes below the stack pointer. */
static void is_interrupted_anywhere(void **state)
{
	uint64_t at = lab.thread->head;
	unsigned n = 0;

	(void)state;
	lab_build_set(2);
	lab_run_steps(&at_jump, scribble, &n, &end);
	assert_true(n > 50);
	assert_int_equal(lab_trap(&end), -1);
	lab_assert_kept("interrupted", &after, NULL, &end);
	at = lab_expect_record(at, 0, &after);
	lab_expect_nothing(lab_expect_record(at, 1, &after));
}

/* The jump stands on the ret: there is nothing in front of it to be carried out. */
static void may_be_empty(void **state)
{
	run_up = (struct window){ 0 };
	analyze(&lab.window, (const uint8_t *)"\xc3", 1, LAB_SITE);
	at_jump = before;
	after.gpr[BP] = before.gpr[BP];
	is_told_as_the_caller_finds_it(state);
	is_interrupted_anywhere(state);
	takes_its_trap(state);
}

/* A function of one ret, or of a few instructions in front of it: entry and return are recorded by one detour, in this order. */
static void begin_short(const char *bytes, size_t len, struct detour_plan *then)
{
	static struct window ret;

	lab_reset();
	lab_random(7, &before);
	lab.plan.run_up = NULL;
	lab.plan.lead = NULL;
	lab.plan.then = NULL;
	lab_function_start(&before, &after);
	analyze(&lab.window, (const uint8_t *)bytes, len, LAB_SITE);
	ret = (struct window){ .insns = { lab.window.insns[lab.window.n - 1] }, .n = 1 };
	ret.len = ret.jump_len = ret.insns[0].len;
	run_up = (struct window){ 0 };
	lab_set_probe(0, false, "s=%sp b=%bp c=%di:s64 top=+0(%sp):x64", NULL);
	lab_set_probe(1, true, "v=$retval s=%sp b=%bp p=%ip top=+0(%sp):x64", NULL);
	lab.plan.n_probes = 1;
	*then = lab.plan;
	then->window = &ret;
	then->run_up = &run_up;
	then->lead = &pops;
	then->probes = lab.plan.probes + 1;
	then->gate = (uintptr_t)lab.gate;
	lab.plan.then = then;
}

static void expect_both(uint64_t at)
{
	assert_int_equal(lab_record_at(at)->vaddr, lab.plan.site);
	at = lab_expect_record(at, 0, &before);
	assert_int_equal(lab_record_at(at)->ret, LAB_HOME);
	assert_int_equal(lab_record_at(at)->vaddr, lab.plan.site);
	lab_expect_nothing(lab_expect_record(at, 1, &after));
}

static void is_entered_and_left_at_once(void **state)
{
	struct detour_plan then;
	unsigned n = 0;
	uint64_t at;

	(void)state;
	begin_short("\xc3", 1, &then);
	lab_build_set(1);
	at = lab.thread->head;
	lab_run(&before, &end);
	assert_int_equal(end.signo, 0);
	assert_true(lab_came_home(&end));
	lab_assert_kept("a ret", &after, NULL, &end);
	expect_both(at);
	at = lab.thread->head;
	lab_run_steps(&before, scribble, &n, &end);
	assert_true(n > 100);
	lab_assert_kept("a ret, interrupted", &after, NULL, &end);
	expect_both(at);
}

/* xor %eax,%eax; ret: what its breakpoint has sent to the copy has its return recorded there. */
static void is_left_from_the_copy(void **state)
{
	struct detour_plan then;
	struct run_regs zero;
	uint64_t at;

	(void)state;
	begin_short("\x89\xf8\xc3", 3, &then); /* mov %edi,%eax */
	after.gpr[AX] = (uint32_t)before.gpr[DI];
	lab_build_set(1);
	at = lab.thread->head;
	lab_run(&before, &end);
	assert_true(lab_came_home(&end));
	lab_assert_kept("mov, ret", &after, NULL, &end);
	expect_both(at);
	at = lab.thread->head;
	lab_run_at(RUN_BLOCK + lab.detour.copy.at[0], &before, &end);
	assert_true(lab_came_home(&end));
	lab_expect_nothing(lab_expect_record(at, 1, &after));
	at = lab.thread->head;
	zero = before;
	zero.gpr[AX] = after.gpr[AX];
	lab_run_at(RUN_BLOCK + lab.detour.copy.at[1], &zero, &end);
	assert_true(lab_came_home(&end));
	lab_assert_kept("at the ret", &after, NULL, &end);
	lab_expect_nothing(lab_expect_record(at, 1, &after));
}

/* Its first trap has the registers at the entry, its second those that the caller finds. */
static void has_two_traps(void **state)
{
	struct detour_plan then;
	struct run_end second, home;
	uint64_t at;

	(void)state;
	begin_short("\xc3", 1, &then);
	lab_build_set(1);
	at = lab.thread->head;
	*lab.gate = RING_GATE_TRAP;
	lab_run(&before, &end);
	assert_int_equal(end.pc, RUN_BLOCK + lab.detour.trap_at[0] + 1);
	lab_assert_kept("first trap", &before, NULL, &end);
	lab_run_at(end.pc, &end.regs, &second);
	assert_int_equal(second.pc, RUN_BLOCK + lab.detour.trap_at[1] + 1);
	lab_assert_kept("second trap", &after, NULL, &second);
	lab_run_at(second.pc, &second.regs, &home);
	assert_true(lab_came_home(&home));
	lab_assert_kept("behind both", &after, NULL, &home);
	lab_expect_nothing(at);
}

static void refuses_others(void **state)
{
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	lab_set_probe(0, false, "a=%di", NULL);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	lab_set_probe(0, true, "d=$duration", NULL);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	lab.plan.lead = NULL;
	lab_set_probe(0, true, "a=%di", NULL);
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(runs_anywhere, begin),
		cmocka_unit_test_setup(is_told_as_the_caller_finds_it, begin),
		cmocka_unit_test_setup(takes_its_trap, begin),
		cmocka_unit_test_setup(is_interrupted_anywhere, begin),
		cmocka_unit_test_setup(may_be_empty, begin),
		cmocka_unit_test_setup(is_entered_and_left_at_once, begin),
		cmocka_unit_test_setup(is_left_from_the_copy, begin),
		cmocka_unit_test_setup(has_two_traps, begin),
		cmocka_unit_test_setup(refuses_others, begin),
	};

	return cmocka_run_group_tests_name("x86_run_up", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
