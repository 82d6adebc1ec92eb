/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Return probes in detours: functions that return, call themselves, jump to themselves, are
 * left by a longjmp(), take arguments off the stack; with tables that are full, rings that are
 * not there any more, and signal handlers at each instruction.
 */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/guard.h"
#include "arch/x86/x86.h"
#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/x86_lab.h"

#define BODY        RUN_CODE
#define HOME        (RUN_BASE + 0x100)                   /* an exit, that is returned to */
#define RETURN_CODE (RUN_BLOCK + RUN_BLOCK_SIZE - 0x400) /* the common one */
#define TRAMPOLINE  (RUN_BLOCK + RUN_BLOCK_SIZE - 0x40)

#define ENTRIES 256
#define LOOKS   64

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct lab lab;
static struct guard_hijack table[ENTRIES];
static struct run_regs before, after;
static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];
static struct fetch_program *programs[UBP_DETOUR_PROBES];
static struct filter *filters[UBP_DETOUR_PROBES];

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

/* --- probes and functions -------------------------------------------------------------- */

static void set_probe(unsigned i, bool is_return, const char *args, const char *filter)
{
	struct probe_make make;
	struct ubp_err err;

	free(programs[i]);
	filter_free(filters[i]);
	filters[i] = NULL;
	ubp_err_reset(&err);
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &programs[i], &err), 0);
	if (filter)
		assert_int_equal(filter_parse(filter, &make.probe, &filters[i], &err), 0);
	lab.probes[i] = (struct detour_probe){ .number = 100 + i,
					       .is_return = is_return,
					       .program = programs[i],
					       .filter = filters[i],
					       .cell = 50 * i };
}

static void build(unsigned n)
{
	uint8_t jump[16];
	struct ubp_err err;

	ubp_err_reset(&err);
	if (lab_build(&lab, n, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(lab.detour.len < RETURN_CODE - RUN_BLOCK);
	assert_int_equal(arch()->build_jump(&lab.window, LAB_SITE,
					    RUN_BLOCK + lab.detour.entry_at, jump, &err),
			 0);
	run_write(LAB_SITE, jump, lab.window.jump_len);
}

static void body(const void *code, size_t len)
{
	run_write(BODY, code, len);
}

static void body_returns(void)
{
	body("\xc3", 1);
}

static int start(void **state)
{
	uint8_t code[UBP_RETURN_CODE_MAX];
	uint64_t home = HOME;
	struct ubp_err err;
	size_t len = 0;

	(void)state;
	lab_reset(&lab);
	lab_fill(1);
	memset(table, 0, sizeof(table));
	run_random(7, &before);
	before.gpr[DI] = 0;
	before.gpr[SI] = LAB_MEM;
	lab.plan.lossless = false;
	lab.plan.count_dropped = false;
	lab.plan.hijacks = (uint64_t)table;
	lab.plan.hijacks_mask = ENTRIES - 1;
	lab.plan.return_vaddr = RETURN_CODE;
	lab.plan.trampoline = TRAMPOLINE;
	lab.real = HOME;
	ubp_err_reset(&err);
	assert_int_equal(arch()->build_return_code((uint64_t)table, ENTRIES - 1, code,
						   sizeof(code), &len, &err),
			 0);
	run_write(RETURN_CODE, code, len);
	run_plant_exit(HOME, 0);
	body_returns();
	run_write(before.gpr[SP], &home, sizeof(home));
	after = before;
	after.gpr[SP] += 8;
	set_probe(0, true, "a=%di:s64 v=$retval", NULL);
	return 0;
}

/* Run it; all must be as before, but for what @after says. The trap, or -1. */
static int go(const char *what, run_step_fn *step, void *arg)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&lab, &before, 7, step, arg, &end);
	lab_assert_kept(&lab, what, &after, NULL, &end);
	return lab_trap(&lab, &end);
}

static void assert_stack_kept(uint64_t from)
{
	from -= RUN_STACK;
	assert_memory_equal(end.stack + from, stack + from, RUN_STACK_SIZE - from);
}

static struct guard_hijack *entry_of(uint64_t word)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (table[i].word == word)
			return &table[i];
	return NULL;
}

static void assert_over(uint64_t word)
{
	assert_non_null(entry_of(word));
	assert_int_equal(entry_of(word)->real, 0);
}

static uint64_t word_at(uint64_t vaddr)
{
	uint64_t word;

	memcpy(&word, (void *)vaddr, sizeof(word));
	return word;
}

/* The record at @at of probe @i, with the registers as they are then; its end. */
static uint64_t expect_record(uint64_t at, unsigned i)
{
	const struct ring_record *record = lab_record_at(&lab, at);
	const struct run_regs *regs = lab.probes[i].is_return ? &after : &before;

	assert_int_equal(lab_interpret(&lab, &lab.probes[i], regs), LAB_RECORD);
	lab_assert_record(&lab, "record", record);
	assert_int_equal(record->probe, lab.probes[i].number);
	return at + record->size;
}

static void expect_nothing(uint64_t head)
{
	assert_int_equal(lab.thread->head, head);
}

/* vfork() is such a function: it returns twice. */
static void refuses_who_pops_it(void **state)
{
	static const struct {
		const char *code;
		bool refused;
	} functions[] = {
		{ "\x5f\xb8\x3a\x00\x00\x00", true }, /* pop %rdi; mov $58,%eax */
		{ "\xf3\x0f\x1e\xfa\x41\x5b", true }, /* endbr64; pop %r11 */
		{ "\x55\x48\x89\xe5\x5d", false },    /* push %rbp; mov; pop %rbp */
	};
	const struct window was = lab.window;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(functions); i++) {
		const uint8_t *code = (const uint8_t *)functions[i].code;

		ubp_err_reset(&err);
		assert_int_equal(arch()->find_window(code, i == 2 ? 5 : 6, 0, LAB_SITE,
						     &lab.window, &err),
				 0);
		assert_int_equal(lab_build(&lab, 1, &err),
				 functions[i].refused ? -EOPNOTSUPP : 0);
	}
	lab.window = was;
	ubp_err_reset(&err);
	lab.plan.hijacks = 0;
	assert_int_equal(lab_build(&lab, 1, &err), -EOPNOTSUPP);
}

/* --- one call ------------------------------------------------------------------------------ */

static void returns(void **state)
{
	static const char *const args[] = {
		"",
		"v=$retval",
		"a=%di v=%ax i=%ip sp=%sp c=%cx d=%dx s=%si r=%r11",
		"s=$stack0 ",
		"c=$comm w=%r8",
		"a=+0(%si):u64 t=$stack1 u=+8(%sp):u64",
	};
	uint64_t head = lab.thread->head;
	static struct run_end off;

	(void)state;
	for (unsigned i = 0; i < N_ELEMS(args); i++) {
		set_probe(0, true, args[i], NULL);
		build(1);
		lab.control->owner |= RING_OWNER_DIED;
		assert_int_equal(go("died", NULL, NULL), -1);
		assert_null(i ? NULL : entry_of(before.gpr[SP]));
		expect_nothing(head);
		off = end;
		lab.control->owner = LAB_TID;
		assert_int_equal(go(args[i], NULL, NULL), -1);
		assert_int_equal(end.exit, 0);
		assert_stack_kept(before.gpr[SP]);
		head = expect_record(head, 0);
		expect_nothing(head);
		assert_over(before.gpr[SP]);
		/* The same vectors as without a record. */
		assert_memory_equal(off.xstate, end.xstate, sizeof(end.xstate));
	}
	assert_int_equal(table[(before.gpr[SP] >> 3) % ENTRIES].word, before.gpr[SP]);
}

static void records_both_ways(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	/* Return probes come last, whatever the order of definition is. */
	set_probe(1, false, "b=%di c=+0(%si):u8[9]", NULL);
	set_probe(2, true, "d=%cx e=$comm", NULL);
	set_probe(3, false, "f=%ax g=%di", "g == 1");
	set_probe(4, true, "h=%ax i=%di", "i == 1");
	build(5);
	assert_int_equal(go("both", NULL, NULL), -1);
	expect_nothing(expect_record(expect_record(expect_record(head, 1), 0), 2));
	assert_over(before.gpr[SP]);
	/* What can't be recorded on return is the tracer's from there on. */
	head = lab.thread->head;
	set_probe(2, true, "d=+0(%cx):u64", NULL);
	before.gpr[CX] = after.gpr[CX] = 8;
	build(5);
	assert_int_equal(go("not the second", NULL, NULL), LAB_ON_RETURN + 2);
	expect_nothing(expect_record(expect_record(head, 1), 0));
	assert_over(before.gpr[SP]);
	assert_int_equal(word_at(before.gpr[SP]), HOME);
	/* On entry: nothing has been replaced yet. */
	head = lab.thread->head;
	set_probe(1, false, "b=+0(%cx):u64", NULL);
	build(5);
	after.gpr[SP] = before.gpr[SP];
	assert_int_equal(go("not the first", NULL, NULL), 1);
	expect_nothing(head);
	assert_over(before.gpr[SP]);
}

static void counts_and_filters(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	lab.plan.count_dropped = true;
	set_probe(0, true, "a=%di s=+0(%si):string", "a == 1");
	build(1);
	assert_int_equal(go("early", NULL, NULL), -1);
	strcpy((char *)LAB_MEM, "text");
	set_probe(0, true, "a=%di s=+0(%si):string", "s == \"other\"");
	build(1);
	assert_int_equal(go("late", NULL, NULL), -1);
	expect_nothing(head);
	assert_int_equal(lab.head->dropped[100], 2);
	set_probe(0, true, "a=%di s=+0(%si):string", "s == \"text\"");
	build(1);
	lab.thread->limit = head;
	assert_int_equal(go("full", NULL, NULL), -1);
	assert_int_equal(lab.thread->lost, 1);
	lab.plan.lossless = true;
	build(1);
	assert_int_equal(go("full, lossless", NULL, NULL), LAB_ON_RETURN);
	lab.thread->limit = head + 10000;
	assert_int_equal(go("pass", NULL, NULL), -1);
	expect_nothing(expect_record(head, 0));
}

/* --- is anybody there? ---------------------------------------------------------------------- */

struct change {
	uint64_t at; /* when the pc is there */
	uint64_t *word, value;
};

static void change(struct ubp_regs *regs, void *arg)
{
	const struct change *c = arg;

	if (regs->r[X86_IP] == c->at)
		*c->word = c->value;
}

static void asks_again_on_return(void **state)
{
	struct change c = { .at = BODY, .word = lab.gate };
	uint64_t head = lab.thread->head, owner = LAB_TID | RING_OWNER_DIED;

	(void)state;
	build(1);
	c.value = RING_GATE_OFF;
	assert_int_equal(go("off", change, &c), -1);
	assert_over(before.gpr[SP]);
	*lab.gate = (uint64_t)lab.head;
	c.value = RING_GATE_TRAP;
	assert_int_equal(go("trap", change, &c), LAB_ON_RETURN);
	assert_int_equal(word_at(before.gpr[SP]), HOME);
	assert_over(before.gpr[SP]);
	*lab.gate = (uint64_t)lab.head;
	c = (struct change){ BODY, (uint64_t *)lab.control, owner };
	assert_int_equal(go("died", change, &c), -1);
	assert_over(before.gpr[SP]);
	expect_nothing(head);
	/* On entry: nothing is replaced at all. */
	memset(table, 0, sizeof(table));
	after.gpr[SP] = before.gpr[SP];
	lab.control->owner = LAB_TID;
	*lab.gate = RING_GATE_TRAP;
	assert_int_equal(go("trap", NULL, NULL), 0);
	assert_null(entry_of(before.gpr[SP]));
	after.gpr[SP] += 8;
	*lab.gate = RING_GATE_OFF;
	assert_int_equal(go("off", NULL, NULL), -1);
	assert_null(entry_of(before.gpr[SP]));
}

/* --- calls in calls --------------------------------------------------------------------------- */

static void calls_itself(void **state)
{
	/* test %rdi,%rdi; je 1f; dec %rdi; call LAB_SITE; inc %rdi; 1: ret */
	uint8_t code[] = { 0x48, 0x85, 0xff, 0x74, 0x0b, 0x48, 0xff, 0xcf, 0xe8,
			   0,    0,    0,    0,    0x48, 0xff, 0xc7, 0xc3 };
	int32_t disp = (int32_t)(LAB_SITE - (BODY + 13));
	uint64_t head = lab.thread->head;

	(void)state;
	memcpy(code + 9, &disp, sizeof(disp));
	body(code, sizeof(code));
	set_probe(0, true, "a=%di:s64", NULL);
	build(1);
	before.gpr[DI] = after.gpr[DI] = 200;
	/* The last inc's. */
	before.flags = after.flags = 0x10;
	lab_run(&lab, &before, 7, NULL, NULL, &end);
	assert_int_equal(end.exit, 0);
	assert_int_equal(lab_trap(&lab, &end), -1);
	for (uint64_t i = 0; i <= 200; i++) {
		const struct ring_record *record = lab_record_at(&lab, head);

		assert_non_null(record);
		assert_memory_equal(record->data, &i, sizeof(i));
		assert_int_equal(record->ret, i == 200 ? HOME : BODY + 13);
		assert_over(before.gpr[SP] - 8 * i);
		head += record->size;
	}
	expect_nothing(head);
}

static void jumps_to_itself(void **state)
{
	/* jmp LAB_SITE */
	uint8_t code[5] = { 0xe9 };
	int32_t disp = (int32_t)(LAB_SITE - (BODY + 5));
	uint64_t head = lab.thread->head;
	struct guard_hijack was;

	(void)state;
	memcpy(code + 1, &disp, sizeof(disp));
	body(code, sizeof(code));
	build(1);
	after.gpr[SP] = before.gpr[SP];
	assert_int_equal(go("tail call", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), RETURN_CODE);
	assert_int_equal(entry_of(before.gpr[SP])->real, HOME);
	assert_int_equal(entry_of(before.gpr[SP])->back, RUN_BLOCK + lab.detour.return_at);
	/* The tracer's own is left alone, too. */
	memset(table, 0, sizeof(table));
	was = table[0];
	run_write(before.gpr[SP], &lab.plan.trampoline, 8);
	assert_int_equal(go("tracer's", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), TRAMPOLINE);
	assert_null(entry_of(before.gpr[SP]));
	assert_memory_equal(&was, &table[0], sizeof(was));
	expect_nothing(head);
}

static void is_left_by_longjmp(void **state)
{
	uint64_t home = HOME, head = lab.thread->head;

	(void)state;
	run_plant_exit(BODY, 0); /* it never returns */
	build(1);
	after.gpr[SP] = before.gpr[SP];
	assert_int_equal(go("skipped", NULL, NULL), -1);
	run_write(before.gpr[SP], &home, sizeof(home));
	assert_int_equal(go("next", NULL, NULL), 0);
	assert_int_equal(word_at(before.gpr[SP]), HOME);
	/* The tracer has looked at it. */
	entry_of(before.gpr[SP])->real = 0;
	body_returns();
	after.gpr[SP] += 8;
	assert_int_equal(go("over", NULL, NULL), -1);
	expect_nothing(expect_record(head, 0));
}

/* --- the table --------------------------------------------------------------------------------- */

static void finds_a_place(void **state)
{
	uint64_t head = lab.thread->head;
	size_t first;

	(void)state;
	build(1);
	/* Over its end. */
	before.gpr[SP] = RUN_SP / (8 * ENTRIES) * (8 * ENTRIES) + 8 * (ENTRIES - 3);
	after.gpr[SP] = before.gpr[SP] + 8;
	first = ENTRIES - 3;
	for (size_t i = 0; i < LOOKS + 1; i++) {
		uint64_t home = HOME;

		run_write(before.gpr[SP], &home, sizeof(home));
		if (i == LOOKS)
			after.gpr[SP] = before.gpr[SP];
		assert_int_equal(go("one more", NULL, NULL), i < LOOKS ? -1 : 0);
		if (i == LOOKS)
			break;
		head = expect_record(head, 0);
		assert_int_equal(table[(first + i) % ENTRIES].word, before.gpr[SP]);
		table[(first + i) % ENTRIES].word = 0x1000; /* somebody else's */
	}
	expect_nothing(head);
	assert_int_equal(table[(first + LOOKS) % ENTRIES].word, 0);
	assert_int_equal(word_at(before.gpr[SP]), HOME);
}

static void pops_arguments(void **state)
{
	uint64_t head = lab.thread->head;

	(void)state;
	build(1);
	for (uint16_t n = 8; n < 64; n += 8) {
		uint8_t code[3] = { 0xc2, (uint8_t)n };
		uint64_t home = HOME;

		body(code, sizeof(code));
		run_write(before.gpr[SP], &home, sizeof(home));
		/* Left by a longjmp(), and in the way. */
		table[(before.gpr[SP] + n) / 8 % ENTRIES] = (struct guard_hijack){
			.word = before.gpr[SP] + n, .real = 16, .back = 16
		};
		after.gpr[SP] = before.gpr[SP] + 8 + n;
		assert_int_equal(go("ret n", NULL, NULL), -1);
		head = expect_record(head, 0);
		assert_over(before.gpr[SP]);
		memset(table, 0, sizeof(table));
	}
	expect_nothing(head);
}

/* Returned to by nobody that is known. */
static void is_lost(void **state)
{
	(void)state;
	build(1);
	body_returns();
	run_write(before.gpr[SP], &lab.plan.return_vaddr, 8);
	lab_run(&lab, &before, 7, NULL, NULL, &end);
	assert_int_equal(lab_trap(&lab, &end), 0);
	run_code(BODY, &before, 7, NULL, NULL, &end);
	lab_assert_kept(&lab, "lost", &after, NULL, &end);
	assert_true(end.pc > RETURN_CODE && end.pc < RETURN_CODE + UBP_RETURN_CODE_MAX);
}

/* --- interrupted ---------------------------------------------------------------------------------- */

enum in_handler {
	CALLS,      /* the probed function */
	PUTS_BACK,  /* what a dead tracer's guard does for an unwinder */
	TAKES,      /* what the tracer does for it */
	TAKES_BACK, /* ... and at its end */
};

struct interruption {
	unsigned at, step; /* the handler runs at step .at */
	enum in_handler what;
	bool done, changed;
};

/* In the handler of the single step. */
static void interrupt(struct ubp_regs *regs, void *arg)
{
	struct guard_hijack *entry = entry_of(before.gpr[SP]);
	uint64_t *word = (uint64_t *)before.gpr[SP];
	struct interruption *in = arg;

	(void)regs;
	if (in->step++ != in->at)
		return;
	in->done = true;
	if (in->what == CALLS) {
		((void (*)(long, const char *))LAB_SITE)(5, "handler");
		return;
	}
	if (*word != RETURN_CODE || !entry || !entry->real)
		return;
	*word = in->what == TAKES ? TRAMPOLINE : entry->real;
	if (in->what != PUTS_BACK)
		entry->real = 0;
	in->changed = true;
}

/* Count what is in the ring; all of it must be complete. */
static void count_records(uint64_t at, unsigned *ret_outer, unsigned *ret_nested)
{
	*ret_outer = *ret_nested = 0;
	while (at < lab.thread->head) {
		const struct ring_record *record = lab_record_at(&lab, at);
		int64_t a;

		assert_non_null(record);
		at += record->size;
		if (record->probe == RING_VOID)
			continue;
		memcpy(&a, record->data, sizeof(a));
		assert_true(a == 77 || a == 5);
		*(a == 77 ? ret_outer : ret_nested) += 1;
	}
	assert_int_equal(at, lab.thread->head);
}

static void interrupt_everywhere(enum in_handler what)
{
	uint64_t head, home = HOME;
	unsigned n = 0, outer, nested, n_changed = 0, n_missed = 0;

	set_probe(0, true, "a=%di:s64", NULL);
	set_probe(1, false, "a=%di:s64", NULL);
	before.gpr[DI] = after.gpr[DI] = 77;
	build(2);
	for (bool more = true; more; n++) {
		struct interruption in = { .at = n, .what = what };

		run_write(before.gpr[SP], &home, sizeof(home));
		lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
		head = lab.thread->head;
		memset(table, 0, sizeof(table));
		assert_int_equal(go("interrupted", interrupt, &in), -1);
		count_records(head, &outer, &nested);
		if (end.exit < 0)
			fail_msg("%u: signal %d at 0x%llx", n, end.signo,
				 (unsigned long long)end.pc);
		assert_int_equal(end.exit, what == TAKES && outer == 1);
		more = in.done;
		assert_int_equal(nested, what == CALLS && in.done ? 2 : 0);
		assert_in_range(outer, in.changed ? 1 : 2, 2);
		n_changed += in.changed;
		n_missed += outer == 1;
		for (size_t i = 0; i < ENTRIES && what == CALLS; i++)
			assert_int_equal(table[i].real, 0);
	}
	print_message("interrupted at %u instructions, changed %u, missed %u\n", n, n_changed,
		      n_missed);
	assert_true(n > 100);
	assert_int_equal(lab.thread->lost, 0);
	assert_true(what == CALLS || n_changed > 10);
}

static void is_interrupted_anywhere(void **state)
{
	(void)state;
	interrupt_everywhere(CALLS);
}

static void is_unwound_anywhere(void **state)
{
	run_plant_exit(TRAMPOLINE, 1); /* the tracer's, who knows where to go on */
	interrupt_everywhere(PUTS_BACK);
	start(state);
	interrupt_everywhere(TAKES);
	start(state);
	interrupt_everywhere(TAKES_BACK);
}

/* --- all of it ------------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	run_init(state);
	lab_make(&lab);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UBP_DETOUR_PROBES; i++) {
		free(programs[i]);
		filter_free(filters[i]);
	}
	lab_free(&lab);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(refuses_who_pops_it, start),
		cmocka_unit_test_setup(returns, start),
		cmocka_unit_test_setup(records_both_ways, start),
		cmocka_unit_test_setup(counts_and_filters, start),
		cmocka_unit_test_setup(asks_again_on_return, start),
		cmocka_unit_test_setup(calls_itself, start),
		cmocka_unit_test_setup(jumps_to_itself, start),
		cmocka_unit_test_setup(is_left_by_longjmp, start),
		cmocka_unit_test_setup(finds_a_place, start),
		cmocka_unit_test_setup(pops_arguments, start),
		cmocka_unit_test_setup(is_lost, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
		cmocka_unit_test_setup(is_unwound_anywhere, start),
	};

	return cmocka_run_group_tests_name("x86_detour_return", tests, set_up, tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
