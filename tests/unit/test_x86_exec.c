/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every instruction form is executed in place and as slot code, near and far, from
 * the same registers, flags, memory, stack and vector state: all must end the same.
 */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "tests/unit/x86_forms.h"
#include "tests/unit/x86_run.h"

#define SEEDS 40

/* --- one form ------------------------------------------------------------------- */

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

static void plant_exits(void)
{
	run_plant_exit(RUN_CODE, 0);
	run_plant_exit(RUN_CODE + FORM_TARGET_AT, 1);
	run_plant_exit(RUN_CODE - FORM_TARGET_AT, 2);
}

/* In place: what is right. */
static void run_in_place(const struct form *f, uint64_t vaddr, uint64_t seed,
			 struct run_end *end)
{
	struct run_regs regs;

	form_prepare(f, seed, &regs);
	run_write(vaddr, f->start, (size_t)(f->end - f->start));
	run_code(vaddr, &regs, seed, NULL, NULL, end);
}

/* An imitated indirect call leaves its target below the stack pointer, too. */
static void forget_below_call(struct run_end *a, struct run_end *b)
{
	size_t at = a->regs.gpr[SP] - 8 - RUN_STACK;

	if (a->signo == 0 && at < RUN_STACK_SIZE - 8) {
		memset(a->stack + at, 0, 8);
		memset(b->stack + at, 0, 8);
	}
}

/* A fault is where the program would have had it, once slot_leave has looked at it. */
static void check_fault(const char *what, const struct displaced_insn *insn,
			const struct slot_code *code, uint64_t slot,
			const struct run_end *right, struct run_end *got)
{
	struct ubp_regs regs = { 0 };

	if (right->signo == 0)
		return;
	if (got->pc < slot || got->pc >= slot + code->len) {
		if (got->pc != right->pc)
			fail_msg("%s: fault at 0x%llx", what, (unsigned long long)got->pc);
		return;
	}
	regs.r[arch()->reg.pc] = got->pc;
	regs.r[arch()->reg.sp] = got->regs.gpr[SP];
	arch()->slot.leave(insn, code, slot, &regs);
	if (regs.r[arch()->reg.pc] != right->pc)
		fail_msg("%s: fault in the slot + %llu is told as one at 0x%llx", what,
			 (unsigned long long)(got->pc - slot),
			 (unsigned long long)regs.r[arch()->reg.pc]);
	got->regs.gpr[SP] = regs.r[arch()->reg.sp];
}

static void run_in_slot(const struct form *f, const struct displaced_insn *insn, uint64_t slot,
			const struct slot_code *code, uint64_t seed, struct run_end *right)
{
	static const bool varying[16] = { [AX] = true, [CX] = true, [DX] = true };
	static struct run_end got;
	struct run_regs regs;
	char what[128];

	snprintf(what, sizeof(what), "%s '%s' slot 0x%llx seed %llu", f->name,
		 arch()->insn.text(insn).s, (unsigned long long)slot, (unsigned long long)seed);
	form_prepare(f, seed, &regs);
	memset((void *)insn->vaddr, 0xcc, insn->len); /* nobody has business there */
	run_write(slot, code->code, code->len);
	run_code(slot, &regs, seed, NULL, NULL, &got);
	check_fault(what, insn, code, slot, right, &got);
	if (insn->is_call && right->signo) /* taken back, but it has written */
		memset(got.stack, 0, sizeof(got.stack)),
			memset(right->stack, 0, sizeof(got.stack));
	else if (insn->is_call)
		forget_below_call(right, &got);
	run_assert_same(what, right, &got, f->varies ? varying : NULL);
}

/* Builds the slot; false if it is out of reach, which only a pc-relative one may be. */
static bool build(const struct form *f, const struct displaced_insn *insn, uint64_t slot,
		  struct slot_code *code)
{
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = arch()->slot.build(insn, slot, code, &err);
	if (rc == -ERANGE) {
		assert_true(insn->pc_relative && !insn->addr_half && slot == RUN_FAR);
		return false;
	}
	if (rc != 0)
		fail_msg("%s: %s", f->name, err.text);
	assert_true(code->len <= UBP_SLOT_SIZE);
	return true;
}

static void check_form(const struct form *f, unsigned ends[4])
{
	static struct run_end right;
	size_t len = (size_t)(f->end - f->start);
	uint64_t vaddr = RUN_CODE - len;
	struct slot_code near_code, far_code;
	struct displaced_insn insn;
	struct ubp_err err;
	bool far;

	ubp_err_reset(&err);
	if (arch()->insn.analyze(f->start, len, vaddr, &insn, &err) < 0)
		fail_msg("%s: %s", f->name, err.text);
	assert_int_equal(insn.len, len);
	assert_int_equal(arch()->insn.len(f->start, len, vaddr), len);
	build(f, &insn, RUN_SLOT, &near_code);
	far = build(f, &insn, RUN_FAR, &far_code);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		plant_exits();
		run_in_place(f, vaddr, seed, &right);
		run_in_slot(f, &insn, RUN_SLOT, &near_code, seed, &right);
		if (far) {
			run_in_place(f, vaddr, seed, &right);
			run_in_slot(f, &insn, RUN_FAR, &far_code, seed, &right);
		}
		ends[right.signo ? 3 : right.exit]++;
	}
}

static void test_straight(void **state)
{
	unsigned n = 0, faulted = 0, skipped = 0;

	(void)state;
	for (size_t i = 0; i < n_forms; i++) {
		unsigned ends[4] = { 0 };

		if (forms[i].branch)
			continue;
		if (!form_runs(&forms[i])) {
			skipped++;
			continue;
		}
		check_form(&forms[i], ends);
		assert_int_equal(ends[1] + ends[2], 0);
		faulted += ends[3] != 0;
		/* Most must have worked, or nothing was tested. */
		if (strncmp(forms[i].name, "fault_", 6) != 0 &&
		    strcmp(forms[i].name, "ud2") != 0 && ends[0] == 0)
			fail_msg("%s never worked", forms[i].name);
		n++;
	}
	print_message("%u forms, %u of them with faults, %u not on this CPU\n", n, faulted,
		      skipped);
	assert_true(n > 300);
}

static void test_branches(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < n_forms; i++) {
		unsigned ends[4] = { 0 };

		if (!forms[i].branch)
			continue;
		check_form(&forms[i], ends);
		/* A condition must have been seen both ways. */
		if (forms[i].name[0] == 'j' && forms[i].name[1] != 'm' &&
		    (ends[0] == 0 || ends[1] + ends[2] == 0))
			fail_msg("%s: %u not taken, %u taken", forms[i].name, ends[0],
				 ends[1] + ends[2]);
		n++;
	}
	print_message("%u forms\n", n);
	assert_true(n > 60);
}

/* --- stepping through slots ------------------------------------------------------ */

struct stepper {
	const struct displaced_insn *insn;
	const struct slot_code *code;
	uint64_t slot;
	const struct run_regs *before;
	const struct run_end *right;
	bool is_syscall;
	unsigned n_exact, n_taken_back;
	const char *problem;
};

#define USER_REG(name) (offsetof(struct user_regs_struct, name) / 8)

static bool gprs_are(const struct stepper *s, const struct ubp_regs *r, const uint64_t want[16])
{
	static const size_t user_of[16] = {
		USER_REG(rax), USER_REG(rcx), USER_REG(rdx), USER_REG(rbx),
		USER_REG(rsp), USER_REG(rbp), USER_REG(rsi), USER_REG(rdi),
		USER_REG(r8),  USER_REG(r9),  USER_REG(r10), USER_REG(r11),
		USER_REG(r12), USER_REG(r13), USER_REG(r14), USER_REG(r15),
	};

	for (size_t i = 0; i < 16; i++)
		/* A system call copies the flags to r11, and stepping shows there. */
		if ((r->r[user_of[i]] ^ want[i]) & ~(s->is_syscall && i == R11 ? 0x100ull : 0))
			return false;
	return true;
}

/* At every step slot_leave must tell a state the program has before or after. */
static void look_at_step(struct ubp_regs *regs, void *arg)
{
	struct stepper *s = arg;
	struct ubp_regs told = *regs;
	uint64_t pc = regs->r[arch()->reg.pc], behind = s->insn->vaddr + s->insn->len;
	bool exact;

	if (pc < s->slot || pc >= s->slot + s->code->len)
		return;
	exact = arch()->slot.leave(s->insn, s->code, s->slot, &told);
	pc = told.r[arch()->reg.pc];
	if (pc == s->insn->vaddr && gprs_are(s, &told, s->before->gpr)) {
		s->n_taken_back += !exact;
		s->n_exact += exact;
		return;
	}
	if (exact && (pc == behind || pc == s->insn->target) &&
	    gprs_are(s, &told, s->right->regs.gpr)) {
		s->n_exact++;
		return;
	}
	s->problem = "slot_leave tells a state that never was";
}

static void step_form(const struct form *f, uint64_t slot, uint64_t seed, struct stepper *s)
{
	static struct run_end right, got;
	struct displaced_insn insn;
	struct slot_code code;
	struct run_regs regs;
	struct ubp_err err;
	size_t len = (size_t)(f->end - f->start);
	uint64_t vaddr = RUN_CODE - len;

	ubp_err_reset(&err);
	assert_int_equal(arch()->insn.analyze(f->start, len, vaddr, &insn, &err), 0);
	if (!build(f, &insn, slot, &code))
		return;
	plant_exits();
	run_in_place(f, vaddr, seed, &right);
	if (right.signo)
		return;
	form_prepare(f, seed, &regs);
	run_write(slot, code.code, code.len);
	s->insn = &insn;
	s->code = &code;
	s->slot = slot;
	s->is_syscall = f->prepare == PREPARE_GETPID;
	s->before = &regs;
	s->right = &right;
	run_code(slot, &regs, seed, look_at_step, s, &got);
	if (s->problem)
		fail_msg("%s at slot 0x%llx: %s", f->name, (unsigned long long)slot,
			 s->problem);
}

static void test_stepped(void **state)
{
	struct stepper s = { 0 };

	(void)state;
	for (size_t i = 0; i < n_forms; i++) {
		/* A repetition stops in between: neither before nor after. */
		if (!form_runs(&forms[i]) || forms[i].varies ||
		    !strncmp(forms[i].name, "rep", 3))
			continue;
		for (uint64_t seed = 0; seed < 8; seed++) {
			step_form(&forms[i], RUN_SLOT, seed, &s);
			step_form(&forms[i], RUN_FAR, seed, &s);
		}
	}
	print_message("%u steps exact, %u in a call taken back\n", s.n_exact, s.n_taken_back);
	assert_true(s.n_exact > 1000 && s.n_taken_back > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_straight),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_stepped),
	};

	return cmocka_run_group_tests_name("x86_exec", tests, run_init, NULL);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
