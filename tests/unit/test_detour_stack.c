/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Stacks that detours take: of random chains of frames, sound and not, the code must make
 * what the tracer's own walk makes of them, or leave the hit to it.
 */

#include "tests/unit/host_lab.h"

#ifdef LAB_SITE

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/event/ring_record.h"
#include "engine/base/err.h"
#include "engine/stack/frame_pointers.h"

#define ROUNDS run_rounds(3000)
#define TEXT   (LAB_MEM + 0x2f00)

static struct run_regs before, after;
static struct run_end end;
static uint8_t stack[RUN_STACK_SIZE];
static unsigned n_records, n_traps, n_hijacked, n_longest;

/* --- what the tracer makes of it ------------------------------------------------------ */

static bool is_known(uint64_t vaddr, uint64_t len)
{
	for (size_t i = 0; i < lab.n_ranges; i++)
		if (vaddr >= lab.ranges[i].start && vaddr < lab.ranges[i].end &&
		    lab.ranges[i].end - vaddr >= len)
			return true;
	return false;
}

static bool read_frame(void *ctx, uint64_t vaddr, uint64_t frame[2])
{
	bool *is_for_tracer = ctx;
	run_word words[2];

	if (!is_known(vaddr, sizeof(words))) {
		*is_for_tracer = true;
		return false;
	}
	memcpy(words, (void *)vaddr, sizeof(words));
	frame[0] = words[0];
	frame[1] = words[1];
	return true;
}

static void put_frame(uint64_t at, uint64_t next, uint64_t to)
{
	const run_word words[2] = { (run_word)next, (run_word)to };

	memcpy((void *)at, words, sizeof(words));
}

/* A frame tells which return was replaced there, if calls leave that on the stack. */
static bool finds_by_word(void)
{
	return lab.arch->return_in == RETURN_IN_STACK;
}

static const struct guard_hijack *entry_of(uint64_t word)
{
	for (size_t i = 0; i < LAB_HIJACKS; i++)
		if (lab.hijacks[i].word == word)
			return &lab.hijacks[i];
	return NULL;
}

static uint64_t real(void *ctx, uint64_t slot_vaddr, uint64_t found)
{
	const struct guard_hijack *entry = entry_of(slot_vaddr);
	bool *is_for_tracer = ctx;

	found = lab_plain_address(found);
	if (entry && entry->real && lab_is_ours(slot_vaddr, found)) {
		n_hijacked++;
		return entry->real;
	}
	*is_for_tracer |= found == LAB_RETURN_CODE || found == LAB_TRAMPOLINE;
	return found;
}

/* Returns how many, 0: that is for the tracer. */
static size_t walk(uint64_t pc, const struct run_regs *regs, uint64_t *entries)
{
	bool is_for_tracer = false;
	struct stack_source source = { read_frame, real, &is_for_tracer };
	struct ubp_regs user = { { 0 } };
	size_t n;

	lab.machine->to_user(regs, &user);
	user.r[lab.machine->pc] = pc;
	n = stack_walk(lab.arch, &user, &source, entries, lab.plan.frames);
	return is_for_tracer ? 0 : n;
}

/* --- chains ------------------------------------------------------------------------------ */

static struct guard_hijack *hijack(uint64_t word, uint64_t to)
{
	uint64_t i = UBP_HIJACK_INDEX(word, RUN_WORD);

	while (lab.hijacks[i % LAB_HIJACKS].word && lab.hijacks[i % LAB_HIJACKS].word != word)
		i++;
	lab.hijacks[i % LAB_HIJACKS].word = word;
	lab.hijacks[i % LAB_HIJACKS].real = to;
	return &lab.hijacks[i % LAB_HIJACKS];
}

/* By a call, or what looks so. */
static uint64_t call(uint64_t *rng, uint64_t word, uint64_t to)
{
	const uint64_t back = 0x500000 + UBP_CALLED_AT + UBP_CALLED_BACK;
	uint64_t v = run_next(rng);

	if (!finds_by_word() || RUN_WORD != 8 || v % 4 == 0)
		return back - UBP_CALLED_BACK;
	hijack(word, v % 4 == 1 ? 0 : to)->back = back;
	return back - (v % 4 == 2 ? UBP_CALLED_BACK : UBP_CALLED_BACK + UBP_CALLED_ALIGN);
}

/* Mostly one frame above the other; now and then something that ends or breaks that. */
static uint64_t some_frame(uint64_t *rng, uint64_t at)
{
	uint64_t v = run_next(rng), next = at + (2 + (v >> 8) % 12) * RUN_WORD;

	switch (v % 128) {
	case 0:
		return next + 1 + (v >> 16) % (RUN_WORD - 1);
	case 1:
		return at;
	case 2:
		return at - 64;
	case 3:
		return 0;
	case 4:
		return LAB_MEM + LAB_MEM_SIZE - RUN_WORD; /* half of it is not there */
	case 5:
		return LAB_MEM + LAB_MEM_SIZE + 0x100;
	case 6:
		return LAB_HIGH + 0x40;
	case 7:
		return (run_word)v;
	default:
		return next;
	}
}

static uint64_t some_return(uint64_t *rng, uint64_t word)
{
	uint64_t v = run_next(rng), to = 0x400000 + (v >> 40);

	switch (v % 64) {
	case 0:
		return 0;
	case 1:
		return LAB_TRAMPOLINE;
	case 2:
		hijack(word, 0); /* over */
		return LAB_RETURN_CODE;
	default:
		if (v % 64 >= 40)
			return call(rng, word, to);
		if (v % 64 >= 20 || !finds_by_word())
			return to;
		if (v % 64 != 3) /* that perhaps nobody knows */
			hijack(word, to);
		return LAB_RETURN_CODE;
	}
}

static void make_chain(uint64_t *rng)
{
	uint64_t at = LAB_MEM + (run_next(rng) % 64) * 8;

	before.LAB_BP = some_frame(rng, at - 16);
	/* What is no chain must not be followed either. */
	at = before.LAB_BP;
	for (unsigned i = 0; i < 200 && is_known(at, 2 * RUN_WORD) && at < TEXT - 16; i++) {
		uint64_t next = some_frame(rng, at);

		put_frame(at, next, some_return(rng, at + RUN_WORD));
		if (next <= at)
			break;
		at = next;
	}
}

static void start(uint64_t seed)
{
	static const uint8_t frames[] = { 127, 127, 127, 1, 2, 3, 8, 100 };

	lab_reset();
	lab_end_at_body();
	lab_random(seed, &before);
	lab_fill(seed);
	strcpy((char *)TEXT, "a text of some length");
	before.LAB_R0 = LAB_OUTER;
	before.LAB_R1 = TEXT + seed % 8;
	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	lab.plan.hijacks = (uint64_t)lab.hijacks;
	lab.plan.hijacks_mask = LAB_HIJACKS - 1;
	lab.plan.return_vaddr = LAB_RETURN_CODE;
	lab.plan.trampoline = LAB_TRAMPOLINE;
	lab.plan.frames = frames[seed % sizeof(frames)];
}

/* --- the record -------------------------------------------------------------------------- */

/* Its end is that of what it needs. */
static void check_stack(uint64_t head, const uint64_t *entries, size_t n)
{
	const struct ring_record *record = lab_record_at(head);
	size_t at = (lab.record->data_len + 7) / 8 * 8;
	uint64_t count;

	lab_assert_record("stack", record);
	assert_true(record->data_len & RING_STACK);
	assert_int_equal(record->size, sizeof(*record) + at + 8 + 8 * n);
	assert_int_equal(lab.thread->head, head + record->size);
	memcpy(&count, ring_record_data(record) + at, sizeof(count));
	assert_int_equal(count, n);
	assert_memory_equal(ring_record_data(record) + at + 8, entries, 8 * n);
	n_records++;
	if (n > n_longest)
		n_longest = (unsigned)n;
}

static void check_hit(const char *args)
{
	uint64_t entries[RING_STACK_MAX], head = lab.thread->head;
	size_t n = walk(LAB_SITE, &before, entries);

	lab_set_probe(0, false, args, NULL);
	lab_build_set(1);
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	lab_assert_kept("stack", &before, stack, &end);
	assert_int_equal(lab_interpret(&lab.probes[0], &before), LAB_RECORD);
	if (n) {
		assert_int_equal(lab_trap(&end), -1);
		check_stack(head, entries, n);
		return;
	}
	assert_int_equal(lab_trap(&end), 0);
	lab_expect_nothing(head);
	n_traps++;
}

static void walks_on_entry(void **state)
{
	static const char *const args[] = { "", "a=" R0 ":s64", "b=" R0 ":u8",
					    "a=" R0 ":s32 s=+0(" R1 "):string" };

	(void)state;
	n_records = n_traps = n_hijacked = n_longest = 0;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		uint64_t rng = seed * 77;

		start(seed);
		make_chain(&rng);
		check_hit(args[seed / 8 % 4]);
	}
	print_message("%u records, of up to %u entries; %u traps; %u replaced addresses\n",
		      n_records, n_longest, n_traps, n_hijacked);
	assert_true(n_records > ROUNDS / 3 && n_traps > ROUNDS / 10);
	assert_true(n_longest > 30 && (n_hijacked > ROUNDS || !finds_by_word()));
}

static void walks_on_return(void **state)
{
	(void)state;
	n_records = n_traps = 0;
	for (uint64_t seed = 1; seed <= ROUNDS / 10; seed++) {
		uint64_t entries[RING_STACK_MAX], head, rng = seed * 99;
		size_t n;

		start(seed);
		head = lab.thread->head;
		lab_function_start(&before, &after);
		make_chain(&rng);
		after.LAB_BP = before.LAB_BP;
		lab_set_probe(0, true, "a=" R0 ":s64", NULL);
		lab_function_build(1);
		n = walk(LAB_HOME, &after, entries);
		lab_run_at(LAB_SITE, &before, &end);
		assert_int_equal(lab_interpret(&lab.probes[0], &after), LAB_RECORD);
		if (n) {
			assert_int_equal(lab_trap(&end), -1);
			check_stack(head, entries, n);
		} else {
			assert_int_equal(lab_trap(&end), LAB_ON_RETURN);
			lab_expect_nothing(head);
			n_traps++;
		}
	}
	assert_true(n_records > ROUNDS / 30 && n_traps > ROUNDS / 100);
}

/* Of a chain as long as the memory the entries are as many as asked for. */
static void stops_where_asked(void **state)
{
	uint64_t entries[RING_STACK_MAX];

	(void)state;
	for (unsigned frames = 1; frames <= RING_STACK_MAX; frames += 7) {
		start(5);
		for (uint64_t i = 0; i < 200; i++)
			put_frame(LAB_MEM + 16 * i, LAB_MEM + 16 * (i + 1), 0x1000 + i);
		before.LAB_BP = LAB_MEM;
		lab.plan.frames = (uint8_t)frames;
		assert_int_equal(walk(LAB_SITE, &before, entries), frames);
		check_hit("a=" R0 ":s64");
	}
	lab.plan.frames = RING_STACK_MAX + 1;
	lab_set_probe(0, false, "", NULL);
	assert_true(lab_build(1, &(struct ubp_err){ 0 }) < 0);
	lab.plan.frames = 0;
}

/* A filter looks at the args before: what it drops costs no walk, and leaves nothing. */
static void drops_before(void **state)
{
	uint64_t head;

	(void)state;
	start(1);
	head = lab.thread->head;
	before.LAB_BP = LAB_MEM;
	lab_set_probe(0, false, "a=" R0 ":s64 s=+0(" R1 "):string", "a == 1 || s == \"no\"");
	lab_build_set(1);
	lab_run(&before, &end);
	assert_int_equal(lab_trap(&end), -1);
	lab_expect_nothing(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_on_entry),
		cmocka_unit_test(walks_on_return),
		cmocka_unit_test(stops_where_asked),
		cmocka_unit_test(drops_before),
	};

	return cmocka_run_group_tests_name("detour_stack", tests, lab_set_up, lab_tear_down);
}

#else
#include <stdio.h>
int main(void)
{
	puts("there is no laboratory for this on this machine");
	return 77;
}
#endif
