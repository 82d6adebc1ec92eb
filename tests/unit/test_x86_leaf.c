/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What of a function can be copied, and that the copy does what the function does: alone, and in a detour that tells its returns. */

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
#include "arch/guard.h"
#include "arch/leaf.h"
#include "engine/base/err.h"
#include "tests/unit/return_lab.h"
#include "tests/unit/x86_lab.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define CODE(s)    s, sizeof(s) - 1

/* In the order of their places: where each is in the function, and how it goes on. */
struct want {
	uint16_t from;
	uint8_t kind;
	uint16_t target;
};

static const struct {
	const char *what, *code;
	size_t len;
	struct want insns[8];
	bool has_loop;
} rows[] = {
	{ "one block",
	  CODE("\x8b\x07\xc3"),
	  { { 0, LEAF_PLAIN, 0 }, { 2, LEAF_RET, 0 } },
	  false },
	/* test %rdi,%rdi; je 1f; mov (%rdi),%eax; ret; 1: mov $-1,%eax; ret */
	{ "two rets",
	  CODE("\x48\x85\xff\x74\x03\x8b\x07\xc3\xb8\xff\xff\xff\xff\xc3"),
	  { { 0, LEAF_PLAIN, 0 },
	    { 3, LEAF_BRANCH, 8 },
	    { 5, LEAF_PLAIN, 0 },
	    { 7, LEAF_RET, 0 },
	    { 8, LEAF_PLAIN, 0 },
	    { 13, LEAF_RET, 0 } },
	  false },
	/* 1: dec %edi; jne 1b; rep ret */
	{ "a loop",
	  CODE("\xff\xcf\x75\xfc\xf3\xc3"),
	  { { 0, LEAF_PLAIN, 0 }, { 2, LEAF_BRANCH, 0 }, { 4, LEAF_RET, 0 } },
	  true },
	/* test %edi,%edi; je 1f; call; jmp 2f; 1: nop; 2: ret */
	{ "a call on one way",
	  CODE("\x85\xff\x74\x07\xe8\x00\x01\x00\x00\xeb\x01\x90\xc3"),
	  { { 0, LEAF_PLAIN, 0 },
	    { 2, LEAF_BRANCH, 11 },
	    { 11, LEAF_PLAIN, 0 },
	    { 12, LEAF_RET, 0 } },
	  false },
	/* test %edi,%edi; jne elsewhere; ret: from there on it is the function's */
	{ "a jump to elsewhere first", CODE("\x85\xff\x75\x70\xc3"), { { 0 } }, false },
	/* jmp 1f; data; 1: ret */
	{ "data among code",
	  CODE("\xeb\x03\x06\x06\x06\xc3"),
	  { { 0, LEAF_JUMP, 5 }, { 5, LEAF_RET, 0 } },
	  false },
	{ "a call", CODE("\xe8\x00\x01\x00\x00\xc3"), { { 0 } }, false },
	{ "a call of the kernel", CODE("\x0f\x05\xc3"), { { 0 } }, false },
	{ "a jump by a register", CODE("\x85\xff\xff\xe0\xc3"), { { 0 } }, false },
	{ "it pops more", CODE("\x90\xc2\x08\x00"), { { 0 } }, false },
	{ "a trap", CODE("\x90\x0f\x0b\xc3"), { { 0 } }, false },
	{ "jrcxz", CODE("\xe3\x01\xc3\xc3"), { { 0 } }, false },
	{ "its end is not there", CODE("\x90\x90"), { { 0 } }, false },
	/* lea 0(%rip),%rax; ret */
	{ "an address of its own", CODE("\x48\x8d\x05\x00\x00\x00\x00\xc3"), { { 0 } }, false },
	/* lea 0x1000(%rip),%rax; ret */
	{ "another's address",
	  CODE("\x48\x8d\x05\x00\x10\x00\x00\xc3"),
	  { { 0, LEAF_PLAIN, 0 }, { 7, LEAF_RET, 0 } },
	  false },
	/* mov %fs:0,%rax; mov %rax,%fs:8 */
	{ "a thread's own word",
	  CODE("\x64\x48\x8b\x04\x25\x00\x00\x00\x00\xc3"),
	  { { 0, LEAF_PLAIN, 0 }, { 9, LEAF_RET, 0 } },
	  false },
	{ "it is stored to",
	  CODE("\x64\x48\x89\x04\x25\x08\x00\x00\x00\xc3"),
	  { { 0 } },
	  false },
};

static struct leaf *find(const char *code, size_t len)
{
	struct leaf *leaf = NULL;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (lab.arch->jump.find_leaf((const uint8_t *)code, len, LAB_SITE, &leaf, &err) < 0)
		return NULL;
	return leaf;
}

static void finds_what_can_be_copied(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct leaf *leaf = find(rows[i].code, rows[i].len);
		size_t n = 0;

		while (n < N_ELEMS(rows[i].insns) &&
		       (n == 0 ? rows[i].insns[0].kind || rows[i].insns[1].kind
			       : rows[i].insns[n].from))
			n++;
		if ((leaf ? leaf->n : 0) != n)
			fail_msg("%s: %d instructions", rows[i].what, leaf ? leaf->n : 0);
		for (size_t k = 0; k < n; k++) {
			const struct leaf_insn *insn = &leaf->insns[k];
			const struct want *want = &rows[i].insns[k];

			if (insn->from != want->from || insn->kind != want->kind ||
			    (want->kind != LEAF_PLAIN && want->kind != LEAF_RET &&
			     insn->target != want->target))
				fail_msg("%s: instruction %zu at %d", rows[i].what, k,
					 insn->from);
		}
		if (leaf) {
			assert_int_equal(leaf->has_loop, rows[i].has_loop);
			assert_memory_equal(leaf->code, rows[i].code, leaf->len);
		}
		free(leaf);
	}
}

/* --- in a detour -------------------------------------------------------------------------- */

static const struct lead pops = { .sp_down = 8 };
static struct window ret, none;
static struct detour_plan then;
static struct run_end end;

static void set_window(struct window *w, const uint8_t *bytes, size_t len)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(lab.arch->jump.find(bytes, len, 0, LAB_SITE, w, &err), 0);
}

/* The function at the site, with probes at its entry and its returns. Who leaves the copy comes to what stands there: a jump of ours at the entry. */
static struct leaf *begin_leaf(const char *code, size_t len)
{
	static const uint8_t jump[] = { 0xcc, 0xcc, 0xcc, 0xcc, 0xcc };
	struct leaf *leaf = find(code, len);

	assert_non_null(leaf);
	lab_reset();
	lab_random(7, &before);
	lab_function_start(&before, &after);
	lab.plan.run_up = NULL;
	lab.plan.lead = NULL;
	lab.plan.then = NULL;
	set_window(&lab.window, (const uint8_t *)code, len);
	run_write(LAB_SITE, code, len);
	run_write(LAB_SITE, jump, sizeof(jump));
	ret = (struct window){ .insns[0] = lab.window.insns[0], .n = 1 };
	ret.insns[0] = (struct displaced_insn){ 0 };
	{
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(lab.arch->insn.analyze((const uint8_t *)"\xc3", 1, LAB_SITE,
							&ret.insns[0], &err),
				 0);
	}
	ret.len = ret.jump_len = 1;
	lab_set_probe(0, false, "s=%sp c=%di:s64 top=+0(%sp):x64", NULL);
	lab_set_probe(1, true, "v=$retval s=%sp p=%ip top=+0(%sp):x64", NULL);
	lab.plan.n_probes = 1;
	lab.plan.code.leaf = leaf;
	then = lab.plan;
	then.code.leaf = NULL;
	then.window = &ret;
	then.run_up = &none;
	then.lead = &pops;
	then.probes = lab.plan.probes + 1;
	then.gate = (uintptr_t)lab.gate;
	lab.plan.then = &then;
	lab_build_set(1);
	return leaf;
}

static void end_leaf(struct leaf *leaf)
{
	lab.plan.code.leaf = NULL;
	lab.plan.then = NULL;
	free(leaf);
}

static void expect_both(uint64_t at)
{
	at = lab_expect_record(at, 0, &before);
	assert_int_equal(lab_record_at(at)->ret, LAB_HOME);
	assert_int_equal(lab_record_at(at)->vaddr, lab.plan.site);
	lab_expect_nothing(lab_expect_record(at, 1, &after));
}

static void scribble(struct ubp_regs *regs, void *arg)
{
	unsigned *n = arg;

	lab_scribble_below(regs->r[lab.arch->reg.sp]);
	++*n;
}

/* 1: lea 3(%rax),%rax; sub $1,%edi; jg 1b; test $1,%al; je 2f; inc %eax; ret; 2: ret, behind 5 bytes that are under the jump. */
static const char loop[] = "\xb8\x00\x00\x00\x00" /* mov $0,%eax */
			   "\x48\x8d\x40\x03"     /* 1: lea 3(%rax),%rax */
			   "\x83\xef\x01"         /* sub $1,%edi */
			   "\x7f\xf7"             /* jg 1b */
			   "\xa8\x01"             /* test $1,%al */
			   "\x74\x03"             /* je 2f */
			   "\xff\xc0"             /* inc %eax */
			   "\xc3"                 /* ret */
			   "\xc3";                /* 2: ret */

static void set_result(uint64_t n, uint64_t result)
{
	before.gpr[DI] = n;
	after = before;
	after.gpr[SP] += 8;
	after.gpr[DI] = 0;
	after.gpr[AX] = result;
}

static void tells_entry_and_return(void **state)
{
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);

	(void)state;
	for (uint64_t n = 1; n < 6; n++) {
		uint64_t at = lab.thread->head;

		set_result(n, 3 * n + (3 * n & 1));
		lab_run(&before, &end);
		assert_int_equal(end.signo, 0);
		assert_int_equal(lab_trap(&end), -1);
		assert_true(lab_came_home(&end));
		after.flags = end.regs.flags;
		lab_assert_kept("a loop", &after, NULL, &end);
		expect_both(at);
	}
	end_leaf(leaf);
}

static void is_interrupted_anywhere(void **state)
{
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);
	uint64_t at = lab.thread->head;
	unsigned n = 0;

	(void)state;
	set_result(4, 12);
	lab_run_steps(&before, scribble, &n, &end);
	assert_true(n > 100);
	assert_true(lab_came_home(&end));
	after.flags = end.regs.flags;
	lab_assert_kept("interrupted", &after, NULL, &end);
	expect_both(at);
	end_leaf(leaf);
}

/* Both traps are met with the registers as they should be. */
static void has_two_traps(void **state)
{
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);
	struct run_end second, home;

	(void)state;
	set_result(3, 10);
	*lab.gate = RING_GATE_TRAP;
	lab_run(&before, &end);
	assert_int_equal(end.pc, RUN_BLOCK + lab.detour.trap_at[0] + 1);
	lab_assert_kept("first trap", &before, NULL, &end);
	lab_run_at(end.pc, &end.regs, &second);
	assert_int_equal(second.pc, RUN_BLOCK + lab.detour.trap_at[1] + 1);
	after.flags = second.regs.flags;
	lab_assert_kept("second trap", &after, NULL, &second);
	lab_run_at(second.pc, &second.regs, &home);
	assert_true(lab_came_home(&home));
	lab_assert_kept("behind both", &after, NULL, &home);
	end_leaf(leaf);
}

/* Nobody records: the window's copy, then the function itself. */
static void goes_by_the_function(void **state)
{
	static const uint8_t stop = 0xcc;
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);
	uint64_t at = lab.thread->head;

	(void)state;
	run_write(LAB_SITE + 5, &stop, 1);
	*lab.gate = RING_GATE_OFF;
	lab_run(&before, &end);
	assert_int_equal(end.pc, LAB_SITE + 6);
	lab_expect_nothing(at);
	end_leaf(leaf);
}

/* Each place tells where it is in the function. */
static void knows_its_places(void **state)
{
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);
	const struct detour *d = &lab.detour;

	(void)state;
	assert_int_equal(d->n_places, leaf->n);
	for (size_t i = 0; i < d->n_places; i++) {
		assert_int_equal(d->places[i].from, leaf->insns[i].from);
		assert_true(d->places[i].at >= d->copy.at[lab.window.n] &&
			    d->places[i].at < d->copy.len);
		if (leaf->insns[i].kind == LEAF_PLAIN)
			assert_memory_equal((const char *)RUN_BLOCK + d->places[i].at,
					    leaf->code + leaf->insns[i].from,
					    leaf->insns[i].len);
	}
	end_leaf(leaf);
}

/*
 * test %edi,%edi; je 1f; push %rbx (under the jump); call; pop %rbx; 1: ret. What is not copied is under the jump: it goes on in the window's copy. Behind the window stands the
 * function.
 */
static void leaves_by_the_window(void **state)
{
	static const char code[] = "\x85\xff\x74\x07\x53\xe8\x00\x00\x00\x00\x5b\xc3";
	static const uint8_t stop = 0xcc;
	struct leaf *leaf = begin_leaf(code, sizeof(code) - 1);
	uint64_t at = lab.thread->head;

	(void)state;
	assert_int_equal(lab.window.n, 3);
	run_write(LAB_SITE + 5, &stop, 1);
	before.gpr[DI] = 1;
	lab_run(&before, &end);
	assert_int_equal(end.pc, LAB_SITE + 6);
	assert_int_equal(end.regs.gpr[SP], before.gpr[SP] - 8);
	lab_expect_nothing(lab_expect_record(at, 0, &before));
	/* And by the ret of the copy. */
	at = lab.thread->head;
	before.gpr[DI] = 0;
	after = before;
	after.gpr[SP] += 8;
	lab_run(&before, &end);
	assert_true(lab_came_home(&end));
	expect_both(at);
	end_leaf(leaf);
}

/* test %edi,%edi; mov %esi,%eax; nop; je 1f; push %rbx; call; pop %rbx; 1: ret. Its window ends at the je. */
static const char calls[] = "\x85\xff\x89\xf0\x90\x74\x07\x53\xe8\x00\x00\x00\x00\x5b\xc3";
#define CALLS_OUT 7 /* what is not copied */

/* What the next session finds in front of the entry is what this one knows. */
static void tells_where_it_leads_out(void **state)
{
	struct leaf *leaf = begin_leaf(calls, sizeof(calls) - 1);
	const struct detour *d = &lab.detour;
	const char *entry = (const char *)RUN_BLOCK + d->entry_at;
	struct guard_leaf table;
	uint16_t ret_at;
	int16_t out;

	(void)state;
	assert_true(leaf_exits_between(leaf, CALLS_OUT - 1, CALLS_OUT + 1));
	assert_false(leaf_exits_between(leaf, CALLS_OUT, sizeof(calls)));
	assert_false(leaf_exits_between(leaf, 0, CALLS_OUT));
	assert_int_equal(d->n_exits, 2);
	assert_int_equal(d->exits[0], lab.window.len);
	assert_int_equal(d->exits[1], CALLS_OUT);
	assert_int_equal(d->leaf_len, sizeof(calls) - 1);
	assert_int_equal(d->entry_at % UBP_SLOT_SIZE, 0);
	memcpy(&table, entry - sizeof(table), sizeof(table));
	assert_int_equal(table.n_rets, 1);
	assert_int_equal(table.n_exits, 2);
	memcpy(&out, entry - sizeof(table) - 2, sizeof(out));
	memcpy(&ret_at, entry - sizeof(table) - 6, sizeof(ret_at));
	assert_int_equal(out, CALLS_OUT);
	assert_true(d->places[d->n_places - 1].is_ret);
	assert_int_equal(ret_at, d->places[d->n_places - 1].at);
	/* And it does lead there. */
	before.gpr[DI] = 1;
	run_write(LAB_SITE + CALLS_OUT, (const uint8_t[]){ 0xcc }, 1);
	lab_run(&before, &end);
	assert_int_equal(end.pc, LAB_SITE + CALLS_OUT + 1);
	end_leaf(leaf);
}

/* Who is in a copy that was left returns, and nothing is recorded. */
static void its_ret_can_be_disarmed(void **state)
{
	struct leaf *leaf = begin_leaf(calls, sizeof(calls) - 1);
	const struct detour *d = &lab.detour;
	const struct arch_jump *arch = &lab.arch->jump;
	uint64_t at = lab.thread->head, ret_at = RUN_BLOCK + d->places[d->n_places - 1].at;

	(void)state;
	before.gpr[DI] = 0;
	before.gpr[SI] &= UINT32_MAX;
	after = before;
	after.gpr[SP] += 8;
	after.gpr[AX] = before.gpr[SI];
	assert_memory_equal((const char *)ret_at, arch->leaf_ret.jump, arch->leaf_ret.len);
	run_write(ret_at, arch->leaf_ret.code, arch->leaf_ret.len);
	lab_run(&before, &end);
	assert_true(lab_came_home(&end));
	after.flags = end.regs.flags;
	lab_assert_kept("disarmed", &after, NULL, &end);
	lab_expect_nothing(lab_expect_record(at, 0, &before));
	end_leaf(leaf);
}

static void refuses_others(void **state)
{
	struct leaf *leaf = begin_leaf(loop, sizeof(loop) - 1);
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	lab.plan.then = NULL;
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
	end_leaf(leaf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_can_be_copied),
		cmocka_unit_test_setup(tells_entry_and_return, start),
		cmocka_unit_test_setup(is_interrupted_anywhere, start),
		cmocka_unit_test_setup(has_two_traps, start),
		cmocka_unit_test_setup(goes_by_the_function, start),
		cmocka_unit_test_setup(knows_its_places, start),
		cmocka_unit_test_setup(leaves_by_the_window, start),
		cmocka_unit_test_setup(tells_where_it_leads_out, start),
		cmocka_unit_test_setup(its_ret_can_be_disarmed, start),
		cmocka_unit_test_setup(refuses_others, start),
	};

	return cmocka_run_group_tests_name("x86_leaf", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
