/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which hits detours take, against base/sample_plan.h over what the interpreter fetches: random args, filters, memory with holes. A hit that goes to
 * the trap has changed nothing. Then with a handler that comes at each instruction, and hits the same probe.
 */

#include <stdio.h>

#if defined(__x86_64__)

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/base/sample_plan.h"
#include "engine/tally/sample.h"
#include "tests/unit/lab_random.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_next.h"
#include "tests/unit/x86_lab.h"

#define PLANS   run_rounds(800)
#define HITS    80
#define AREA_AT (LAB_CAPACITY + (unsigned)RING_SLACK)
#define TEXT    (LAB_MEM + 0x100)
#define NUMBER  7

static struct sample_plan *plan;
static struct run_regs before;
static struct run_end end;
static unsigned n_taken, n_left_out, n_traps, n_stops, n_drops, n_open;

static struct sample_word *word(void)
{
	return (struct sample_word *)(lab.ring + AREA_AT) + NUMBER;
}

static int set_up(void **state)
{
	void *ring;

	if (lab_set_up(state) < 0)
		return -1;
	ring = mmap(NULL, AREA_AT + SAMPLE_AREA, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ring != MAP_FAILED);
	lab.ring = ring;
	return 0;
}

static void set_plan(const char *args, const char *filter, const char *text)
{
	struct probe_make make;
	struct sample_text parsed;
	struct ubp_err err;

	ubp_err_reset(&err);
	free(plan);
	probe_make(&make, false, args);
	if (sample_text_parse(text, &parsed, &err) < 0 ||
	    sample_text_bind(&parsed, &make.probe, &plan, &err) < 0)
		fail_msg("%s, %s: %s", args, text, err.text);
	lab_set_probe(0, false, args, filter);
	lab.probes[0].number = NUMBER;
	lab.probes[0].sample = plan;
	lab.probes[0].stops = false;
	lab.plan.tally.samples = AREA_AT;
}

/* --- random hits ------------------------------------------------------------------------ */

static const char *const regs[] = { "ax", "cx", "dx", "bx", "si", "di", "r8", "r9", "r11" };

/* The first one is a number. */
static void random_args(char *to, size_t size, uint64_t *rng, unsigned n)
{
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		const char *reg = regs[lab_upto(rng, 9)];
		char type[8];

		snprintf(type, sizeof(type), "%c%u", "us"[lab_upto(rng, 2)],
			 8u << lab_upto(rng, 4));
		if (i && lab_upto(rng, 4) == 0)
			len += (size_t)snprintf(to + len, size - len, " +0(%%%s):string", reg);
		else if (lab_upto(rng, 3) == 0)
			len += (size_t)snprintf(to + len, size - len, "%s+%u(%%%s):%s",
						i ? " " : "", lab_upto(rng, 16), reg, type);
		else
			len += (size_t)snprintf(to + len, size - len, "%s%%%s:%s", i ? " " : "",
						reg, type);
	}
}

static void random_regs(uint64_t seed)
{
	uint64_t rng = seed * 31 + 5;

	lab_random(seed, &before);
	for (unsigned i = 0; i < RUN_GPRS; i++) {
		if (i == SP)
			continue;
		if (lab_upto(&rng, 4) > 1)
			before.gpr[i] = LAB_MEM + lab_upto(&rng, 0x2000);
		else if (lab_upto(&rng, 2))
			before.gpr[i] = lab_upto(&rng, 40);
	}
}

static void check_record(const char *what, uint64_t head, bool is_taken)
{
	static uint8_t copy[RING_RECORD_MAX];
	struct ring_record *record = (struct ring_record *)copy;
	const struct ring_record *there = lab_record_at(head);

	if (!there)
		fail_msg("%s: nothing is recorded", what);
	memcpy(copy, there, there->size);
	assert_int_equal((record->cpu & RING_SAMPLED) != 0, is_taken);
	record->cpu &= (uint16_t)~RING_SAMPLED;
	lab_assert_record(what, record);
	lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
}

/* It did not come to its trap, and the code decides. */
static void check_decided(const char *what, uint64_t head, int64_t used,
			  enum lab_outcome outcome)
{
	bool is_taken;

	used += sample_step(plan, lab.record->data);
	is_taken = used + word()->given >= plan->every;
	if (word()->used != used - (is_taken ? plan->every : 0))
		fail_msg("%s: used is %lld, not %lld", what, (long long)word()->used,
			 (long long)used - (is_taken ? plan->every : 0));
	if (is_taken && (outcome == LAB_FAULT || lab.probes[0].stops))
		fail_msg("%s: taken, and came out", what);
	if (is_taken)
		check_record(what, head, true);
	else
		assert_int_equal(lab.thread->head, head);
	n_taken += is_taken;
	n_left_out += !is_taken;
}

static bool would_take(void)
{
	return lab.passes &&
	       word()->used + word()->given + sample_step(plan, lab.record->data) >=
		       plan->every;
}

static void hit(const char *what, uint64_t seed)
{
	static uint8_t stack[RUN_STACK_SIZE];
	uint64_t head = lab.thread->head;
	int64_t used = word()->used;
	enum lab_outcome outcome;
	int trap;

	random_regs(seed);
	outcome = lab_interpret(&lab.probes[0], &before);
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	trap = lab_trap(&end);
	if (end.signo && trap != 0)
		fail_msg("%s: signal %d at + 0x%llx", what, end.signo,
			 (unsigned long long)(end.pc - RUN_BLOCK));
	lab_assert_kept(what, &before, stack, &end);
	if (trap == 0 || !lab.passes || !lab.detour.filters_done)
		assert_int_equal(word()->used, used);
	if (trap == 0) {
		assert_true(outcome == LAB_FAULT || (lab.probes[0].stops && would_take()));
		n_stops += outcome != LAB_FAULT;
		assert_int_equal(lab.thread->head, head);
		n_traps++;
	} else if (!lab.detour.filters_done) {
		/* What the filter has left open is sampled by who looks at it. */
		n_open++;
		if (lab.passes)
			check_record(what, head, false);
		lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
	} else if (!lab.passes) {
		assert_int_equal(lab.thread->head, head);
		n_drops++;
	} else {
		check_decided(what, head, used, outcome);
	}
}

static void random_hits(void **state)
{
	static const char *const filters[] = { "arg1 > 100", "arg1 & 1", "arg1 < 0x1000000" };
	static const unsigned sizes[] = { 1, 2, 7, 100, 5000, 100000000, INT32_MAX };

	(void)state;
	for (uint64_t seed = 1; seed <= PLANS; seed++) {
		uint64_t rng = seed;
		unsigned every = sizes[lab_upto(&rng, 7)];
		char args[512], text[64], what[700];
		const char *filter;

		random_args(args, sizeof(args), &rng, 1 + lab_upto(&rng, 4));
		if (lab_upto(&rng, 2))
			snprintf(text, sizeof(text), "arg1:%u", every);
		else
			snprintf(text, sizeof(text), "%u", 1 + lab_upto(&rng, 5));
		filter = lab_upto(&rng, 2) ? filters[lab_upto(&rng, 3)] : NULL;
		snprintf(what, sizeof(what), "%s if %s: %s", args, filter ? filter : "1", text);
		lab_reset();
		lab_fill(seed);
		lab.plan.count_dropped = lab_upto(&rng, 2);
		set_plan(args, filter, text);
		lab.probes[0].stops = lab_upto(&rng, 4) == 0;
		lab_build_set(1);
		/* What ubp has decided counts, too. */
		*word() = (struct sample_word){ -(int64_t)lab_upto(&rng, 5), 0 };
		word()->given = -word()->used + (int64_t)lab_upto(&rng, plan->every);
		for (uint64_t i = 0; i < HITS; i++)
			hit(what, seed * HITS + i);
	}
	print_message("%u taken, %u left out, %u dropped, %u left open, %u traps, %u of them "
		      "told to stop\n",
		      n_taken, n_left_out, n_drops, n_open, n_traps, n_stops);
	assert_true(n_taken > 1000 && n_left_out > 1000 && n_drops > 0 && n_traps > n_stops &&
		    n_stops > 0);
}

/* --- handlers ------------------------------------------------------------------------------ */

static struct {
	const char *what;
	struct run_regs after;
	int64_t used;
	uint64_t head;
} interrupted;

static void before_interruption(void *arg)
{
	(void)arg;
	lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
	interrupted.head = lab.thread->head;
	*word() = (struct sample_word){ .used = interrupted.used };
}

static void call_function(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	lab_call_nested();
}

static uint32_t step_of(uint64_t value)
{
	return !plan->has_field ? 1 : value < plan->every ? (uint32_t)value : plan->every;
}

static void check_interruption(void *arg, const struct run_end *now, bool was_interrupted)
{
	int64_t used = interrupted.used + step_of(LAB_OUTER);
	unsigned outer, nested, taken;

	(void)arg;
	if (was_interrupted)
		used += step_of(LAB_NESTED);
	taken = (unsigned)(used / plan->every);
	lab_assert_kept(interrupted.what, &interrupted.after, NULL, now);
	assert_true(lab_came_home(now));
	lab_count_calls(interrupted.head, &outer, &nested);
	assert_int_equal(outer + nested, taken);
	assert_int_equal(word()->used, used % plan->every);
}

static void interrupt_everywhere(const char *args, const char *text, int64_t used)
{
	const struct lab_interruptions what = { .regs = &before,
						.start = before_interruption,
						.each = call_function,
						.check = check_interruption };
	unsigned n;

	lab_reset();
	lab_fill(1);
	strcpy((char *)TEXT, LAB_OUTER_TEXT);
	lab_random(7, &before);
	before.LAB_R0 = LAB_OUTER;
	before.LAB_R1 = TEXT;
	interrupted.what = text;
	interrupted.used = used;
	lab_function_start(&before, &interrupted.after);
	set_plan(args, NULL, text);
	lab_function_build(1);
	/* The handler's text is not in RUN's memory. */
	lab_range((uint64_t)lab.nested_text & ~0xfffull, 0x1000);
	n = lab_interrupt(&what);
	print_message("%s: interrupted at %u instructions\n", text, n);
	assert_true(n > 20);
}

static void is_interrupted_anywhere(void **state)
{
	static const char args[] = "a=" R0 ":s64 s=+0(" R1 "):string";

	(void)state;
	for (int64_t used = 0; used < 4; used++)
		interrupt_everywhere(args, "4", used);
	interrupt_everywhere(args, "1", 0);
	interrupt_everywhere(args, "a:80", 0);
	interrupt_everywhere(args, "a:80", 2);
	interrupt_everywhere(args, "a:80", 79);
	interrupt_everywhere(args, "a:5", 3);
}

static int tear_down(void **state)
{
	free(plan);
	return lab_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_hits),
		cmocka_unit_test(is_interrupted_anywhere),
	};

	return cmocka_run_group_tests_name("x86_sample", tests, set_up, tear_down);
}

#else
int main(void)
{
	puts("not on this machine");
	return 77;
}
#endif
