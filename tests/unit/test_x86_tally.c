/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Compiled plans against the interpreter: random keys and values over random registers and memory, in tables that have room and that have
 * little; what becomes a record is counted from that. Then with a handler that comes at each instruction, and hits the same probe.
 */

#include <stdio.h>

#if defined(__x86_64__)

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/base/tally_table.h"
#include "engine/event/ring_tally.h"
#include "engine/event/ring_time.h"
#include "engine/tally/tally.h"
#include "engine/tally/text.h"
#include "tests/unit/lab_random.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_next.h"
#include "tests/unit/x86_lab.h"

#define PLANS    run_rounds(800)
#define HITS     160
#define AREA_AT  (LAB_CAPACITY + (unsigned)RING_SLACK)
#define AREA_LEN (TALLY_TABLES_AT + TALLY_FIRST + TALLY_STEPS * TALLY_SLOT_MAX)
#define TEXT     (LAB_MEM + 0x100)
#define NUMBER   7

static struct tally_plan plan;
static struct run_regs before;
static struct run_end end;
static struct ring_time ticks_time;
static unsigned n_counted, n_records, n_full, n_traps, n_drops;

static struct tally_area *area(void)
{
	return (struct tally_area *)(lab.ring + AREA_AT);
}

/* An empty area; its table has room for that many entries. */
static void reset_area(unsigned n)
{
	memset(area(), 0, AREA_LEN);
	area()->mask = (uint64_t)(n - 1) * lab.plan.tally.slot;
}

static uint64_t read_ticks(void)
{
	return __rdtsc();
}

static int set_up(void **state)
{
	void *ring;

	if (lab_set_up(state) < 0)
		return -1;
	ring_time_init(&ticks_time, CLOCK_KIND_MONO, read_ticks);
	ring = mmap(NULL, AREA_AT + AREA_LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ring != MAP_FAILED);
	lab.ring = ring;
	return 0;
}

/* --- what was counted ------------------------------------------------------------------------- */

static void count(struct tally *tally, uint64_t hits, uint64_t *words)
{
	struct ring_count one = { .probe = NUMBER,
				  .tid = LAB_TID,
				  .comm = "lab rat",
				  .hits = hits,
				  .words = words,
				  .time = &ticks_time };

	if (hits)
		tally_count(tally, &plan, &one);
}

/* When its first hit came lies between the start and now. */
static void check_first(const uint64_t *words)
{
	unsigned n = 1 + plan.n_values;

	for (unsigned i = 0; i < plan.n_keys; i++)
		n += tally_key_words(&plan.keys[i]);
	assert_true(words[n] > ring_time_last(&ticks_time) && words[n] < __rdtsc());
}

static void read_area(struct tally *tally)
{
	uint64_t slot = lab.plan.tally.slot, words[TALLY_SLOT_MAX / 8] = { 0 };
	uint8_t *table =
		(uint8_t *)area() + TALLY_TABLES_AT + area()->mask + slot - TALLY_FIRST;
	uint64_t n = 0;

	for (uint64_t at = 0; at < area()->mask + slot + TALLY_STEPS * slot; at += slot) {
		struct tally_entry *entry = (struct tally_entry *)(table + at);

		if (entry->tag <= TALLY_TAG_BUSY)
			continue;
		n++;
		assert_int_equal(entry->words[0], NUMBER);
		memcpy(words, entry->words, slot - sizeof(*entry));
		if (plan.has_first)
			check_first(words);
		count(tally, entry->hits, words);
	}
	assert_int_equal(n, area()->n);
	memset(words, 0, sizeof(words));
	count(tally, ((uint64_t *)((uint8_t *)area() + TALLY_COUNTERS_AT))[NUMBER], words);
}

/* Each entry of one is in the other, with the same counts. */
static void assert_same(const char *what, const struct tally *got, const struct tally *want)
{
	struct tally *both = tally_new(&plan, 0);

	assert_non_null(both);
	if (tally_hits(got) != tally_hits(want) || tally_n(got) != tally_n(want))
		fail_msg("%s: %zu entries, %zu hits, not %zu, %zu", what, tally_n(got),
			 (size_t)tally_hits(got), tally_n(want), (size_t)tally_hits(want));
	/* By the interpreter's order: those of the other are found by their keys. */
	tally_merge(both, want);
	tally_merge(both, got);
	assert_int_equal(tally_n(both), tally_n(want));
	for (size_t i = 0; i < tally_n(want); i++) {
		struct tally_row one, two;

		tally_row(want, i, &one);
		tally_row(both, i, &two);
		if (two.hits != 2 * one.hits)
			fail_msg("%s: entry %zu has %zu hits, not %zu", what, i,
				 (size_t)(two.hits - one.hits), (size_t)one.hits);
		for (unsigned k = 0; k < plan.n_values; k++) {
			uint64_t twice = plan.values[k].kind == TALLY_SUM ? 2 * one.values[k]
									  : one.values[k];

			if (two.values[k] != twice)
				fail_msg("%s: entry %zu, value %u: 0x%llx, not 0x%llx", what, i,
					 k, (unsigned long long)two.values[k],
					 (unsigned long long)twice);
		}
	}
	tally_free(both);
}

/* --- random plans ------------------------------------------------------------------------------- */

static const char *const regs[] = {
	"ax", "cx", "dx", "bx", "si", "di", "r8", "r9", "r11", "sp"
};

static void random_args(char *to, size_t size, uint64_t *rng, bool *is_text, unsigned n)
{
	size_t len = 0;
	bool had = false;

	for (unsigned i = 0; i < n; i++) {
		const char *reg = regs[lab_upto(rng, 10)];
		char type[8];

		snprintf(type, sizeof(type), "%c%u", "us"[lab_upto(rng, 2)],
			 8u << lab_upto(rng, 4));
		is_text[i] = !had && lab_upto(rng, 4) == 0;
		had |= is_text[i];
		if (is_text[i])
			len += (size_t)snprintf(to + len, size - len, "%s+0(%%%s):string",
						i ? " " : "", reg);
		else if (lab_upto(rng, 3) == 0)
			len += (size_t)snprintf(to + len, size - len, "%s+%u(%%%s):%s",
						i ? " " : "", lab_upto(rng, 16), reg, type);
		else if (lab_upto(rng, 8) == 0)
			len += (size_t)snprintf(to + len, size - len, "%s\\%d:%s", i ? " " : "",
						(int)lab_upto(rng, 300) - 150, type);
		else
			len += (size_t)snprintf(to + len, size - len, "%s%%%s:%s", i ? " " : "",
						reg, type);
	}
}

static const char *random_scale(uint64_t *rng)
{
	static const char *const scales[] = { ".log2", ".buckets=1", ".buckets=16",
					      ".buckets=1000", ".buckets=0xffffffffffff" };

	return lab_upto(rng, 2) ? "" : scales[lab_upto(rng, 5)];
}

/* Some args are keys, some values; those that are neither are fetched for nothing. */
static void random_text(char *to, size_t size, uint64_t *rng, const bool *is_text, unsigned n)
{
	static const char *const others[] = { "event", "comm", "tid", "cpu" };
	static const char *const kinds[] = { "", ".min", ".max" };
	size_t len = (size_t)snprintf(to, size, "hist:keys=");
	unsigned n_keys = 0, n_values = 0;

	for (unsigned i = 0; i < n && n_keys < 3; i++)
		if (lab_upto(rng, 2))
			len += (size_t)snprintf(to + len, size - len, "%sarg%u%s",
						n_keys++ ? "," : "", i + 1,
						is_text[i] ? "" : random_scale(rng));
	if (!n_keys || (n_keys < 3 && lab_upto(rng, 4) == 0))
		len += (size_t)snprintf(to + len, size - len, "%s%s", n_keys ? "," : "",
					others[lab_upto(rng, 4)]);
	for (unsigned i = 0; i < n && n_values < 3; i++)
		if (!is_text[i] && lab_upto(rng, 3) == 0)
			len += (size_t)snprintf(to + len, size - len, "%sarg%u%s",
						n_values++ ? "," : ":vals=", i + 1,
						kinds[lab_upto(rng, 3)]);
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

/* Texts that end, of up to 60 bytes, all over the memory. */
static void fill(uint64_t seed)
{
	uint64_t rng = seed + 99;

	lab_fill(seed);
	for (uint64_t at = LAB_MEM; at < LAB_MEM + 0x2f00;) {
		at += lab_upto(&rng, 60);
		*(uint8_t *)at++ = 0;
	}
}

static void take_record(const char *what, uint64_t head, struct tally *got)
{
	static uint8_t copy[RING_RECORD_MAX];
	struct ring_record *record = (struct ring_record *)copy;
	const struct ring_record *there = lab_record_at(head);

	assert_non_null(there);
	memcpy(copy, there, there->size);
	n_full += (record->cpu & RING_NO_ENTRY) != 0;
	record->cpu &= (uint16_t)~RING_NO_ENTRY;
	lab_assert_record(what, record);
	tally_record(got, &plan, lab.record);
	n_records++;
	lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
}

static void hit(const char *what, uint64_t seed, struct tally *got, struct tally *want)
{
	static uint8_t stack[RUN_STACK_SIZE];
	uint64_t head = lab.thread->head;
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
	if (trap == 0) {
		assert_int_equal(outcome, LAB_FAULT);
		assert_int_equal(lab.thread->head, head);
		n_traps++;
		return;
	}
	if (lab.passes)
		tally_record(want, &plan, lab.record);
	else
		n_drops++;
	if (lab.thread->head != head)
		take_record(what, head, got);
	else
		n_counted++;
}

static void check_plan(const char *what, uint64_t seed, unsigned room)
{
	struct tally *got = tally_new(&plan, 0), *want = tally_new(&plan, 0);

	assert_true(got && want);
	reset_area(room);
	fill(seed);
	for (uint64_t i = 0; i < HITS; i++)
		hit(what, seed * HITS + i % (HITS / 2), got, want);
	read_area(got);
	assert_same(what, got, want);
	tally_free(got);
	tally_free(want);
}

static void random_plans(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= PLANS; seed++) {
		uint64_t rng = seed;
		unsigned n = 1 + lab_upto(&rng, 4);
		char args[512], text[256], what[900];
		bool is_text[4];
		struct probe_make make;
		struct tally_text parsed;
		struct ubp_err err;

		ubp_err_reset(&err);
		random_args(args, sizeof(args), &rng, is_text, n);
		random_text(text, sizeof(text), &rng, is_text, n);
		snprintf(what, sizeof(what), "%s: %s", args, text);
		probe_make(&make, false, args);
		if (tally_text_parse(text, &parsed, &err) < 0 ||
		    tally_text_bind(&parsed, &make.probe, &plan, &err) < 0)
			fail_msg("%s: %s", what, err.text);
		plan.has_first = lab_upto(&rng, 2);
		lab_reset();
		lab_set_probe(0, false, args,
			      lab_upto(&rng, 4) || is_text[0] ? NULL : "arg1 > 100");
		lab.probes[0].number = NUMBER;
		lab.probes[0].tally = &plan;
		lab.plan.tally.at = AREA_AT;
		lab.plan.tally.slot = tally_slot(&plan);
		lab_build_set(1);
		check_plan(what, seed, lab_upto(&rng, 3) ? 1024 * 64 / lab.plan.tally.slot : 2);
	}
	print_message(
		"%u counted, %u recorded, %u of them without room, %u dropped, %u traps\n",
		n_counted, n_records, n_full, n_drops, n_traps);
	assert_true(n_counted > n_traps && n_full > 0 && n_records > n_full && n_traps > 0);
}

/* --- handlers ------------------------------------------------------------------------------------ */

static struct {
	const char *what;
	struct run_regs after;
	struct tally *want;
	unsigned room;
	uint64_t head;
} interrupted;

static void before_interruption(void *arg)
{
	(void)arg;
	lab.thread->limit = lab.thread->head + LAB_CAPACITY - RING_SLACK;
	interrupted.head = lab.thread->head;
	reset_area(interrupted.room);
}

static void call_function(void *arg, uint64_t vaddr)
{
	(void)arg;
	(void)vaddr;
	lab_call_nested();
}

/* By whom is a record? The first arg tells. */
static void add_call(struct tally *tally, bool is_nested)
{
	struct run_regs call = before;

	call.LAB_R0 = is_nested ? LAB_NESTED : LAB_OUTER;
	call.LAB_R1 = is_nested ? (uint64_t)lab.nested_text : TEXT;
	assert_int_equal(lab_interpret(&lab.probes[0], &call), LAB_RECORD);
	tally_record(tally, &plan, lab.record);
}

static void check_interruption(void *arg, const struct run_end *now, bool was_interrupted)
{
	struct tally *got = tally_new(&plan, 0), *want = tally_new(&plan, 0);
	unsigned outer, nested;

	(void)arg;
	assert_true(got && want);
	lab_assert_kept(interrupted.what, &interrupted.after, NULL, now);
	assert_true(lab_came_home(now));
	read_area(got);
	lab_count_calls(interrupted.head, &outer, &nested);
	for (; outer; outer--)
		add_call(got, false);
	for (; nested; nested--)
		add_call(got, true);
	add_call(want, false);
	if (was_interrupted)
		add_call(want, true);
	assert_same(interrupted.what, got, want);
	tally_free(got);
	tally_free(want);
}

static void interrupt_everywhere(const char *args, const char *text, unsigned room,
				 bool has_first)
{
	const struct lab_interruptions what = { .regs = &before,
						.start = before_interruption,
						.each = call_function,
						.check = check_interruption };
	struct probe_make make;
	struct tally_text parsed;
	struct ubp_err err;
	unsigned n;

	ubp_err_reset(&err);
	lab_reset();
	lab_fill(1);
	strcpy((char *)TEXT, LAB_OUTER_TEXT);
	lab_random(7, &before);
	before.LAB_R0 = LAB_OUTER;
	before.LAB_R1 = TEXT;
	probe_make(&make, false, args);
	assert_int_equal(tally_text_parse(text, &parsed, &err), 0);
	assert_int_equal(tally_text_bind(&parsed, &make.probe, &plan, &err), 0);
	plan.has_first = has_first;
	interrupted.what = text;
	interrupted.room = room;
	lab_function_start(&before, &interrupted.after);
	lab_set_probe(0, false, args, NULL);
	lab.probes[0].number = NUMBER;
	lab.probes[0].tally = &plan;
	lab.plan.tally.at = AREA_AT;
	lab.plan.tally.slot = tally_slot(&plan);
	lab_function_build(1);
	/* The handler's text is not in RUN's memory. */
	lab_range((uint64_t)lab.nested_text & ~0xfffull, 0x1000);
	n = lab_interrupt(&what);
	print_message("%s: interrupted at %u instructions\n", text, n);
	assert_true(n > 20);
}

static void is_interrupted_anywhere(void **state)
{
	static const char path[] = "a=" R0 ":s64 s=+0(" R1 "):string";

	(void)state;
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=event", 64, false);
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=a:vals=a", 64, false);
	/* The same key, and another one in the same place. */
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=a.buckets=1000:vals=a,a.min,a.max", 64,
			     false);
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=a", 1, false);
	interrupt_everywhere(path, "hist:keys=s:vals=a.min,a.max", 64, false);
	interrupt_everywhere(path, "hist:keys=s,a", 64, false);
	interrupt_everywhere(path, "hist:keys=s,a:vals=a", 64, true);
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=tid", 64, true);
}

/* --- the shorter way to the ring --------------------------------------------------------------------- */

static uint64_t *counter(void)
{
	return (uint64_t *)((uint8_t *)area() + TALLY_COUNTERS_AT) + NUMBER;
}

/* What ubp writes for this thread, or one whose thread pointer or id is a little other. */
static struct ring_quick *put_quick(uint64_t more, unsigned more_self)
{
	uint64_t thread_pointer = lab.key - ring_key(0);
	uint8_t *table = (uint8_t *)lab.head + RING_QUICK_AT;
	struct ring_quick *quick = (struct ring_quick *)(table + ring_quick_place(thread_pointer));

	*quick = (struct ring_quick){
		.thread_pointer = thread_pointer + more,
		.ring = (uintptr_t)lab.ring,
		.self = (uint32_t)gettid() + more_self,
	};
	return quick;
}

/* Nothing but a counter is asked for. */
static void build_bare(void)
{
	lab_set_probe(0, false, "a=" R0 ":s64", NULL);
	lab.probes[0].number = NUMBER;
	lab.probes[0].tally = &plan;
	lab.plan.tally.at = AREA_AT;
	lab.plan.tally.slot = tally_slot(&plan);
	lab.plan.self_at = lab_find_self();
	assert_true(lab.plan.self_at != 0);
}

/* How often it counts in one run; -1: it takes the trap. */
static int run_bare(void)
{
	uint64_t had = *counter();

	lab_run(&before, &end);
	if (end.signo)
		return lab_trap(&end) == 0 ? -1 : -2;
	lab_assert_kept("the shorter way", &before, NULL, &end);
	return (int)(*counter() - had);
}

static void is_found_by_a_shorter_way(void **state)
{
	struct ring_quick *quick;

	(void)state;
	plan = (struct tally_plan){ .n_keys = 1, .keys = { { .source = TALLY_EVENT } } };
	lab_reset();
	reset_area(64);
	lab_random(7, &before);
	build_bare();
	lab_build_set(1);
	/* With its entry alone; with both; with an entry that another thread had before. */
	lab.thread->self = (uint32_t)gettid();
	assert_int_equal(run_bare(), 1);
	quick = put_quick(0, 0);
	assert_int_equal(run_bare(), 1);
	lab.thread->self++;
	assert_int_equal(run_bare(), 1);
	/* Another thread in its place, and nobody: by the entry, which is not its own. */
	put_quick(1ull << 40, 0);
	assert_int_equal(run_bare(), -1);
	put_quick(0, 1);
	assert_int_equal(run_bare(), -1);
	*quick = (struct ring_quick){ 0 };
	assert_int_equal(run_bare(), -1);
	lab.thread->self--;
	assert_int_equal(run_bare(), 1);
	/* Not with a tracer that is dead, or while detours do nothing. */
	put_quick(0, 0);
	*lab.gate = RING_GATE_OFF;
	assert_int_equal(run_bare(), 0);
	*lab.gate = RING_GATE_TRAP;
	assert_int_equal(run_bare(), -1);
	*lab.gate = (uintptr_t)lab.head;
	lab.control->owner = RING_OWNER_DIED;
	assert_int_equal(run_bare(), 0);
	put_quick(0, 0);
	interrupt_everywhere("a=" R0 ":s64", "hist:keys=event", 64, false);
	*quick = (struct ring_quick){ 0 };
	lab.plan.self_at = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans),
		cmocka_unit_test(is_found_by_a_shorter_way),
		cmocka_unit_test(is_interrupted_anywhere),
	};

	return cmocka_run_group_tests_name("x86_tally", tests, set_up, lab_tear_down);
}

#else
int main(void)
{
	puts("not on this machine");
	return 77;
}
#endif
