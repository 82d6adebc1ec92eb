/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls: which return belongs to which entry, and what is said of those that have none. */

#include "engine/calls/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"

enum { F, G, H, N_FUNCTIONS };

struct fixture {
	struct probe_make entry[N_FUNCTIONS], ret[N_FUNCTIONS], timed, second;
	struct event_record *record;
	struct calls *calls;
	char told[4096]; /* what was told, a word for each call */
	bool is_quiet;
	uint64_t n_told, inner_of_last;
};

static void on_call(void *ctx, const struct call *call)
{
	static const char *const ends[] = {
		[CALL_RETURNED] = "", [CALL_LEFT] = "!", [CALL_OPEN] = "..."
	};
	struct fixture *f = ctx;
	size_t len = strlen(f->told);
	uint64_t arg = 0;

	f->n_told++;
	f->inner_of_last = call->inner_ns;
	if (call->entry)
		memcpy(&arg, call->entry->data, sizeof(arg));
	if (f->is_quiet)
		return;
	/* f#ID<PARENT depth [start,end] self: what the entry's argument was */
	(void)snprintf(f->told + len, sizeof(f->told) - len,
		       "%s%c#%llu<%llu@%u[%llu,%llu]%llu%s%s", len ? " " : "",
		       call->function->file[1], (unsigned long long)call->id,
		       (unsigned long long)call->parent, call->depth,
		       (unsigned long long)call->start_ns, (unsigned long long)call->end_ns,
		       (unsigned long long)call->self_ns, ends[call->end],
		       call->is_uncertain ? "?" : "");
	if (call->entry) {
		assert_true(call->entry->time <= call->start_ns);
		assert_int_equal(arg, call->start_ns);
		assert_int_equal(call->entry->tid, call->tid);
	}
	assert_int_equal(call->ret != NULL, call->end == CALL_RETURNED);
	assert_true(call->has_start || call->start_ns == call->end_ns);
}

static void make(struct probe_make *make, unsigned function, bool is_return, const char *args)
{
	static char paths[N_FUNCTIONS][4] = { "/f", "/g", "/h" };

	probe_make(make, is_return, args);
	make->probe.path = paths[function];
	make->probe.offset = 0x1000;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		make(&f->entry[i], i, false, "a=%di:u64");
		make(&f->ret[i], i, true, "");
	}
	make(&f->timed, F, true, "");
	make(&f->second, F, false, "a=%di:u64");
	f->timed.probe.args = f->timed.args;
	f->timed.probe.n_args = 1;
	f->timed.probe.fixed_size = 8;
	strcpy(f->timed.args[0].text, "$duration");
	f->timed.args[0].type.size = 8;
	f->record = record_make();
	f->calls = calls_new(on_call, f);
	*state = f;
	return f->record && f->calls ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	calls_free(f->calls);
	free(f->record);
	free(f);
	return 0;
}

static int add(struct fixture *f, struct probe_make *make, int tid, uint64_t time,
	       uint64_t value)
{
	record_clear(f->record, &make->probe);
	f->record->tid = tid;
	f->record->time = time;
	if (make->probe.n_args)
		record_put(f->record, &make->probe, 0, 0, value);
	return calls_add(f->calls, &make->probe, f->record);
}

static int enter(struct fixture *f, unsigned function, int tid, uint64_t time)
{
	return add(f, &f->entry[function], tid, time, time);
}

static int leave(struct fixture *f, unsigned function, int tid, uint64_t time)
{
	return add(f, &f->ret[function], tid, time, 0);
}

static void know(struct fixture *f)
{
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		assert_int_equal(0, calls_add_probe(f->calls, &f->entry[i].probe));
		assert_int_equal(0, calls_add_probe(f->calls, &f->ret[i].probe));
	}
}

/* Anew: probes have changed. */
static void tear_calls(struct fixture *f)
{
	calls_free(f->calls);
	f->calls = calls_new(on_call, f);
	assert_non_null(f->calls);
}

static void lose(struct fixture *f)
{
	f->record->kind = EVENT_LOST;
	f->record->n_lost = 5;
	assert_int_equal(CALLS_OTHER, calls_add(f->calls, NULL, f->record));
}

static void nested(void **state)
{
	struct fixture *f = *state;

	know(f);
	assert_int_equal(CALLS_ENTRY, enter(f, F, 1, 10));
	enter(f, G, 1, 20);
	enter(f, G, 2, 25); /* another thread */
	enter(f, F, 1, 30);
	assert_int_equal(CALLS_RETURN, leave(f, F, 1, 40));
	leave(f, G, 1, 50);
	enter(f, H, 1, 60);
	leave(f, H, 1, 65);
	leave(f, G, 2, 70);
	leave(f, F, 1, 100);
	assert_string_equal(f->told, "f#4<2@2[30,40]10 g#2<1@1[20,50]20 h#5<1@1[60,65]5 "
				     "g#3<0@0[25,70]45 f#1<0@0[10,100]55");
}

static void paths(void **state)
{
	struct fixture *f = *state;

	know(f);
	for (unsigned i = 0; i < 2; i++) {
		enter(f, F, 1, 100 * i + 10);
		enter(f, G, 1, 100 * i + 20);
		leave(f, G, 1, 100 * i + 30);
		leave(f, F, 1, 100 * i + 40);
	}
	assert_int_equal(2, calls_n_paths(f->calls));
	assert_int_equal(0, calls_path_parent(f->calls, 1));
	assert_int_equal(1, calls_path_parent(f->calls, 2));
	assert_string_equal("/g", calls_path_function(f->calls, 2)->file);
	assert_null(calls_path_function(f->calls, 0));
	assert_null(calls_path_function(f->calls, 3));
}

/* An entry alone is no call; once a return is known it is. */
static void entries_alone(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(CALLS_OTHER, enter(f, F, 1, 10));
	assert_int_equal(CALLS_RETURN, leave(f, F, 1, 20));
	assert_int_equal(CALLS_ENTRY, enter(f, F, 1, 30));
	leave(f, F, 1, 40);
	assert_string_equal(f->told, "f#1<0@0[20,20]0 f#2<0@0[30,40]10");
}

/* longjmp() over G and H, and what is open at the end. */
static void left_and_open(void **state)
{
	struct fixture *f = *state;
	struct calls_counts counts;

	know(f);
	enter(f, F, 1, 10);
	enter(f, G, 1, 20);
	enter(f, H, 1, 30);
	leave(f, F, 1, 40);
	enter(f, G, 1, 50);
	enter(f, H, 2, 60);
	calls_end(f->calls);
	assert_string_equal(f->told, "h#3<2@2[30,40]0! g#2<1@1[20,40]0! f#1<0@0[10,40]30 "
				     "h#5<0@0[60,60]0... g#4<0@0[50,60]0...");
	calls_counts(f->calls, &counts);
	assert_int_equal(1, counts.calls);
	assert_int_equal(2, counts.left);
	assert_int_equal(2, counts.open);
}

static void lost(void **state)
{
	struct fixture *f = *state;
	struct calls_counts counts;

	know(f);
	enter(f, F, 1, 10);
	lose(f);
	enter(f, G, 1, 20);
	leave(f, G, 1, 30);
	leave(f, F, 1, 40);
	assert_string_equal(f->told, "g#2<1@1[20,30]10 f#1<0@0[10,40]20?");
	calls_counts(f->calls, &counts);
	assert_int_equal(5, counts.lost);
	assert_int_equal(1, counts.uncertain);
}

/* $duration says which entry it was, and when one began that has none. */
static void durations(void **state)
{
	struct fixture *f = *state;
	const uint64_t ms = 1000000;

	know(f);
	assert_int_equal(0, calls_add_probe(f->calls, &f->timed.probe));
	enter(f, F, 1, 10 * ms);
	lose(f);
	add(f, &f->timed, 1, 110 * ms, 100 * ms); /* confirmed */
	enter(f, G, 1, 200 * ms);
	leave(f, G, 1, 210 * ms);
	add(f, &f->timed, 1, 220 * ms, 30 * ms); /* no entry, G was in it */
	enter(f, F, 1, 300 * ms);
	add(f, &f->timed, 1, 320 * ms,
	    1 * ms); /* an inner one, whose entry a filter kept out */
	add(f, &f->timed, 1, 330 * ms, 30 * ms);
	assert_string_equal(f->told, "f#1<0@0[10000000,110000000]100000000 "
				     "g#2<0@0[200000000,210000000]10000000 "
				     "f#3<0@0[190000000,220000000]30000000 "
				     "f#5<4@1[319000000,320000000]1000000 "
				     "f#4<0@0[300000000,330000000]29000000");
}

/* A thread that waited between its entry's record and the start of $duration: no call of the next ones is inside of that one. */
static void waits(void **state)
{
	struct fixture *f = *state;
	const uint64_t ms = 1000000;

	know(f);
	assert_int_equal(0, calls_add_probe(f->calls, &f->timed.probe));
	add(f, &f->entry[F], 1, 10 * ms, 19 * ms); /* on_call() wants the start in it */
	add(f, &f->timed, 1, 20 * ms, 1 * ms);
	enter(f, F, 1, 30 * ms);
	add(f, &f->timed, 1, 31 * ms, 1 * ms);
	enter(f, F, 1, 40 * ms);
	enter(f, G, 1, 41 * ms);
	leave(f, G, 1, 42 * ms);
	add(f, &f->timed, 1, 50 * ms, 1 * ms); /* no wait: G was called in between */
	assert_string_equal(f->told, "f#1<0@0[19000000,20000000]1000000 "
				     "f#2<0@0[30000000,31000000]1000000 "
				     "g#4<3@1[41000000,42000000]1000000 "
				     "f#5<3@1[49000000,50000000]1000000");
}

/* Returns alone tell what is whose, too. */
static void returns_alone(void **state)
{
	struct fixture *f = *state;

	add(f, &f->timed, 1, 30, 10);
	add(f, &f->timed, 1, 50, 5);
	add(f, &f->timed, 1, 60, 50);
	add(f, &f->timed, 1, 80, 10);
	add(f, &f->timed, 1, 90, 85);
	assert_string_equal(f->told, "f#1<0@0[20,30]10 f#2<0@0[45,50]5 f#3<0@0[10,60]35 "
				     "f#4<0@0[70,80]10 f#5<0@0[5,90]25");
}

/* Two entry probes and two return probes of one function make one call, recursion or not. */
static void several_probes(void **state)
{
	struct fixture *f = *state;

	know(f);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(CALLS_ENTRY, enter(f, F, 1, 10 * i));
		assert_int_equal(CALLS_OTHER, add(f, &f->second, 1, 10 * i, 10 * i));
	}
	strcpy(f->timed.args[0].text, "");
	for (unsigned i = 3; i < 5; i++) {
		assert_int_equal(CALLS_RETURN, leave(f, F, 1, 10 * i));
		assert_int_equal(CALLS_OTHER, add(f, &f->timed, 1, 10 * i, 0));
	}
	assert_string_equal(f->told, "f#2<1@1[20,30]10 f#1<0@0[10,40]20");
}

/* With stack pointers the next entry shows what longjmp() has left; tail calls and other stacks do not. */
static void stack_pointers(void **state)
{
	struct fixture *f = *state;
	const uint64_t sp = 0x7ffd00001000;

	know(f);
	f->is_quiet = true;
	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		strcpy(f->entry[i].args[0].text, "%sp");
	tear_calls(f);
	know(f);
	add(f, &f->entry[F], 1, 10, sp);
	add(f, &f->entry[G], 1, 20, sp - 64);
	assert_int_equal(0, f->n_told);
	add(f, &f->entry[F], 1, 30, sp); /* both were left */
	assert_int_equal(2, f->n_told);
	add(f, &f->entry[H], 1, 40, sp);             /* a tail call */
	add(f, &f->entry[G], 1, 50, 0x7f0000000000); /* another stack */
	add(f, &f->entry[F], 1, 60, sp - 128);
	assert_int_equal(2, f->n_told);
	leave(f, F, 1, 70);
	leave(f, G, 1, 80);
	leave(f, H, 1, 90);
	leave(f, F, 1, 100);
	assert_int_equal(6, f->n_told);
	assert_int_equal(10, f->inner_of_last); /* F is inside of F from 60 to 70 */
}

/* What never returns does not fill the memory, and all of it is told. */
static void bounds(void **state)
{
	struct fixture *f = *state;
	struct calls_counts counts;
	uint64_t n = 0, time = 10;

	know(f);
	f->is_quiet = true;
	for (unsigned i = 0; i < 3 * CALLS_DEPTH_MAX; i++, n++)
		enter(f, i % 3, 1, time++);
	for (unsigned i = 0; i < CALLS_DEPTH_MAX / 4; i++)
		leave(f, F, 1, time++);
	for (int tid = 2; tid < 100000; tid++, n++)
		enter(f, F, tid, time++);
	for (unsigned i = 0; i < 10000; i++, n += 2) {
		add(f, &f->timed, 1, time + 10, 5);
		add(f, &f->timed, 1, time + 20, 18);
		time += 20;
	}
	calls_end(f->calls);
	calls_counts(f->calls, &counts);
	assert_int_equal(f->n_told, n);
	assert_int_equal(n, counts.calls + counts.left + counts.open + counts.given_up);
	assert_true(counts.given_up > 2 * CALLS_DEPTH_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested),        TEST(paths),          TEST(entries_alone),
		TEST(left_and_open), TEST(lost),           TEST(durations),
		TEST(waits),         TEST(returns_alone),  TEST(several_probes),
		TEST(bounds),        TEST(stack_pointers),
	};

	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
