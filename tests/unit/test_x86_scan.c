/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours that scan the stack: they leave where nothing of ours is on it, and take their trap
 * where something is, and in all cases of doubt. Registers, flags and the stack stay as they were.
 */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "tests/unit/x86_lab.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define WORDS      64 /* of the stack that is known, from the stack pointer on */
#define OURS       LAB_RETURN_CODE
#define THEIRS     LAB_TRAMPOLINE

/* What a kernel writes of the interrupted segments into a signal's frame: the first .n words. */
static const struct {
	size_t n;
	run_word words[4];
} segments =
#if RUN_BITS == 32
	{ 4, { 0x23, 0x246, 0xffffd000, 0x2b } };
#else
	{ 1, { 0x002b000000000033 } };
#endif

static struct run_regs before;
static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];

static struct ring_stack *known(void)
{
	struct ring_stack *all = (struct ring_stack *)((uint8_t *)lab.head + RING_STACKS_AT);

	return &all[lab.thread - lab.table];
}

static run_word *word(size_t i)
{
	return (run_word *)before.gpr[SP] + i;
}

static int start(void **state)
{
	struct ubp_err err;

	(void)state;
	lab_reset();
	lab_random(3, &before);
	before.gpr[SP] = RUN_SP;
	lab.gate = (uint64_t *)LAB_GATE;
	*lab.gate = (uint64_t)lab.head;
	lab.plan.scans = true;
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	lab.plan.hijacks = (uintptr_t)lab.hijacks;
	lab.plan.hijacks_mask = LAB_HIJACKS - 1;
	lab.plan.return_vaddr = OURS;
	lab.plan.trampoline = THEIRS;
	ubp_err_reset(&err);
	assert_int_equal(lab_build(0, &err), 0);
	*known() = (struct ring_stack){ RUN_SP - 0x800, (uint64_t)word(WORDS) };
	for (size_t i = 0; i < WORDS + 8; i++)
		*word(i) = (run_word)(OURS + 8 * i + 1);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	lab.plan.scans = false;
	return 0;
}

/* Run; all must be as before. Did it take its trap? */
static bool traps(const char *what)
{
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	lab_assert_kept(what, &before, stack, &end);
	if (!end.signo)
		return false;
	assert_int_equal(end.signo, SIGTRAP);
	assert_int_equal(end.pc, RUN_BLOCK + lab.detour.trap_at[0] + 1);
	return true;
}

static void finds_what_is_ours(void **state)
{
	static const uint64_t ours[] = { OURS, THEIRS };

	(void)state;
	assert_false(traps("nothing"));
	for (size_t i = 0; i < WORDS; i++) {
		run_word was = *word(i);

		for (size_t k = 0; k < N_ELEMS(ours); k++) {
			*word(i) = (run_word)ours[k];
			assert_true(traps("ours"));
		}
		*word(i) = was;
	}
	assert_false(traps("nothing any more"));
	/* Behind the stack, and in the red zone. */
	*word(WORDS) = OURS;
	word(0)[-1] = OURS;
	assert_false(traps("somebody else's"));
}

/* What a call of a detour has put there, or what looks so. */
static void looks_up_calls(void **state)
{
	const uint64_t back = RUN_BLOCK + 0x5000 + UBP_CALLED_AT + UBP_CALLED_BACK;
	struct guard_hijack *entry;

	(void)state;
	if (RUN_WORD != 8)
		return;
	for (size_t i = 0; i < WORDS; i++) {
		run_word was = *word(i);
		uint64_t key = (uint64_t)word(i), at = UBP_HIJACK_INDEX(key, RUN_WORD);

		*word(i) = back - UBP_CALLED_BACK;
		assert_false(traps("no entry"));
		/* The first place is somebody else's. */
		lab.hijacks[at % LAB_HIJACKS].word = key + 0x100000;
		entry = &lab.hijacks[(at + i % 2) % LAB_HIJACKS];
		*entry = (struct guard_hijack){ .word = key, .back = back };
		assert_false(traps("over"));
		entry->real = LAB_HOME;
		assert_true(traps("called"));
		memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
		*word(i) = was;
	}
	for (size_t i = 0; i < LAB_HIJACKS; i++)
		lab.hijacks[i].word = i + 1;
	*word(1) = back - UBP_CALLED_BACK;
	assert_false(traps("no room"));
}

static void leaves_signals_to_the_tracer(void **state)
{
	(void)state;
	for (size_t i = 0; i < segments.n; i++)
		*word(20 + i) = segments.words[i];
	assert_true(traps("a signal's frame"));
	*word(20) += 1;
	assert_false(traps("none"));
	*word(20) -= 1;
	*word(20 + segments.n - 1) ^= (run_word)1 << (RUN_BITS == 32 ? 0 : 48);
	assert_false(traps("none, either"));
}

#if RUN_BITS == 32
/* Upper halves may hold anything. */
static void knows_signals_frames(void **state)
{
	(void)state;
	*word(WORDS - 1) = 0xabcd0023;
	*word(WORDS + 2) = 0xabcd002b;
	assert_true(traps("its last word is the stack's last"));
	*word(WORDS - 1) = OURS + 1;
	*word(WORDS) = 0x23;
	*word(WORDS + 3) = 0x2b;
	assert_false(traps("behind the stack"));
}
#else
/* What this kernel writes there. */
static uint64_t segments_of_a_signal;

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	const ucontext_t *uc = ctx;

	(void)sig;
	(void)si;
	segments_of_a_signal = (uint64_t)uc->uc_mcontext.gregs[REG_CSGSFS];
}

static void knows_signals_frames(void **state)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, old;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &sa, &old), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
	*word(WORDS - 1) = segments_of_a_signal;
	assert_true(traps("this kernel's"));
}
#endif

static bool is_made_good(uint64_t at)
{
	for (size_t i = 0; i < lab.detour.n_loads; i++)
		if (lab.detour.loads[i].at == at)
			return lab.detour.loads[i].fixup != 0;
	return false;
}

static void knows_stacks(void **state)
{
	const uint64_t sp = before.gpr[SP];
	const struct {
		uint64_t lo, end;
		bool traps;
	} stacks[] = {
		{ 0, 0, true },
		{ sp, sp, true },
		{ sp + RUN_WORD, sp + 64, true },
		{ sp - 64, sp, true },
		{ sp, sp + RUN_WORD, false },
		{ sp - 64, sp + RUN_WORD, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(stacks); i++) {
		*known() = (struct ring_stack){ stacks[i].lo, stacks[i].end };
		assert_int_equal(traps("a stack"), stacks[i].traps);
	}
	/* Beyond it is the end of memory: a fault, which the tracer makes good. */
	*known() = (struct ring_stack){ sp, (run_word)-RUN_WORD };
	lab_run(&before, &end);
	assert_int_equal(end.signo, SIGSEGV);
	assert_true(is_made_good(end.pc - RUN_BLOCK));
	/* Not where words do not lie as they should. */
	*known() = (struct ring_stack){ sp - 64, sp + 64 };
	before.gpr[SP] += RUN_WORD / 2;
	assert_true(traps("half a word on"));
}

static void is_conservative(void **state)
{
	uint64_t key = lab.thread->key;

	(void)state;
	*lab.gate = RING_GATE_OFF;
	*word(2) = OURS;
	assert_false(traps("off"));
	*word(2) = 0;
	*lab.gate = RING_GATE_TRAP;
	assert_true(traps("trap"));
	*lab.gate = (uint64_t)lab.head;
	lab.control->owner |= RING_OWNER_DIED;
	assert_true(traps("its tracer is dead"));
	lab.control->owner = LAB_TID;
	lab.thread->key = RING_KEY_GONE;
	assert_true(traps("not a thread that is known"));
	lab.thread->key = key;
	assert_false(traps("all is well"));
}

static void wants_addresses(void **state)
{
	struct ubp_err err;

	(void)state;
	ubp_err_reset(&err);
	lab.plan.return_vaddr = 0;
	assert_int_equal(lab_build(0, &err), -EOPNOTSUPP);
	lab.plan.return_vaddr = OURS;
	lab.plan.trampoline = 0;
	assert_int_equal(lab_build(0, &err), -EOPNOTSUPP);
	lab.plan.trampoline = THEIRS;
	assert_int_equal(lab_build(1, &err), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_what_is_ours, start, stop),
		cmocka_unit_test_setup_teardown(looks_up_calls, start, stop),
		cmocka_unit_test_setup_teardown(leaves_signals_to_the_tracer, start, stop),
		cmocka_unit_test_setup_teardown(knows_signals_frames, start, stop),
		cmocka_unit_test_setup_teardown(knows_stacks, start, stop),
		cmocka_unit_test_setup_teardown(is_conservative, start, stop),
		cmocka_unit_test_setup_teardown(wants_addresses, start, stop),
	};

	return cmocka_run_group_tests_name(RUN_BITS == 32 ? "i386_scan" : "x86_scan", tests,
					   lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
