/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The tree of calls, as they begin and end: what has no return, no entry, and what is lost is shown as that. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/sink/sink.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"

enum { F, G, N_FUNCTIONS };

struct fixture {
	struct probe_make entry[N_FUNCTIONS], ret[N_FUNCTIONS], alone;
	struct event_record *record;
	struct sink *sink;
	struct sink_buf text;
};

static void make(struct probe_make *make, const char *name, bool is_return, const char *args)
{
	static char paths[][4] = { "/f", "/g", "/h" };

	probe_make(make, is_return, args);
	strcpy(make->probe.event, name);
	make->probe.path = paths[*name - 'f'];
	make->probe.offset = 0x1000;
}

/* Asked for when the first record comes. */
static const struct spec_probe *next(void *ctx, unsigned *at)
{
	struct fixture *f = ctx;
	unsigned i = (*at)++;

	if (i < N_FUNCTIONS)
		return &f->entry[i].probe;
	return i < 2 * N_FUNCTIONS ? &f->ret[i - N_FUNCTIONS].probe : NULL;
}

static int set_up(void **state)
{
	static struct sink_probes probes;
	struct sink_options opt = { .probes = &probes, .escape = true };
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	make(&f->entry[F], "f", false, "a=%di:u64");
	make(&f->entry[G], "g", false, "");
	make(&f->ret[F], "f", true, "v=%ax:s32");
	make(&f->ret[G], "g", true, "");
	make(&f->alone, "h", false, "");
	probes = (struct sink_probes){ next, f };
	f->record = record_make();
	f->sink = sink_new(&sink_tree, &opt);
	*state = f;
	return f->record && f->sink ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sink_free(f->sink);
	sink_buf_free(&f->text);
	free(f->record);
	free(f);
	return 0;
}

static void add(struct fixture *f, struct probe_make *make, int tid, uint64_t time,
		uint64_t value)
{
	record_clear(f->record, &make->probe);
	f->record->pid = f->record->tid = tid;
	f->record->time = time;
	memcpy(f->record->comm, "task", 5);
	if (make->probe.n_args)
		record_put(f->record, &make->probe, 0, 0, value);
	sink_record(f->sink, &f->text, &make->probe, f->record);
}

static void enter(struct fixture *f, unsigned function, int tid, uint64_t time)
{
	add(f, &f->entry[function], tid, time, time);
}

static void leave(struct fixture *f, unsigned function, int tid, uint64_t time)
{
	add(f, &f->ret[function], tid, time, 7);
}

#define T1 "            task-1       | "
#define T2 "            task-2       | "

static void check(struct fixture *f, const char *want)
{
	sink_buf_add(&f->text, "", 1);
	assert_int_equal(0, f->text.failed);
	assert_string_equal(want, f->text.data);
	f->text.len = 0;
}

static void nested(void **state)
{
	struct fixture *f = *state;

	enter(f, F, 1, 10);
	enter(f, G, 1, 20);
	leave(f, G, 1, 520);
	add(f, &f->alone, 1, 530, 0);
	leave(f, F, 1, 12310);
	check(f, T1 "f(a=10) {\n" T1 "  g();   500 ns\n" T1 "  [h()]\n" T1
		    "} = 7;   12.3 us   (f)\n");
	enter(f, F, 1, 20000);
	leave(f, F, 1, 2020000);
	enter(f, G, 1, 3000000);
	leave(f, G, 1, 5000000000);
	check(f, T1 "f(a=20000) = 7;   2.0 ms\n" T1 "g();   4.9 s\n");
	sink_end(f->sink, &f->text);
	check(f, "");
}

/* Another thread's line shows that the first one's call is not over; each has a depth of its own. */
static void threads(void **state)
{
	struct fixture *f = *state;

	enter(f, F, 1, 10);
	enter(f, F, 2, 20);
	enter(f, G, 1, 30);
	leave(f, F, 2, 40);
	leave(f, G, 1, 50);
	leave(f, F, 1, 60);
	check(f, T1 "f(a=10) {\n" T2 "f(a=20) {\n" T1 "  g() {\n" T2 "} = 7;   20 ns   (f)\n" T1
		    "  };   20 ns   (g)\n" T1 "} = 7;   50 ns   (f)\n");
}

static void without_return(void **state)
{
	struct fixture *f = *state;

	enter(f, F, 1, 10);
	enter(f, G, 1, 20);
	leave(f, F, 1, 30); /* an exception has left g() */
	enter(f, G, 1, 40);
	sink_flush(f->sink, &f->text);
	check(f, T1 "f(a=10) {\n" T1 "  g();   (left without a return)\n" T1
		    "} = 7;   20 ns   (f)\n" T1 "g() {\n");
	sink_end(f->sink, &f->text);
	check(f, T1 "};   (no return until the end)   (g)\n");
}

static void without_entry(void **state)
{
	struct fixture *f = *state;

	leave(f, F, 1, 10);
	enter(f, G, 1, 20);
	leave(f, G, 1, 30);
	check(f, T1 "f() = 7;   (its entry was not seen)\n" T1 "g();   10 ns\n");
}

static void losses(void **state)
{
	struct fixture *f = *state;

	enter(f, F, 1, 10);
	sink_lost(f->sink, &f->text, 5);
	leave(f, F, 1, 20);
	check(f, T1 "f(a=10) {\n[LOST 5 EVENTS]\n" T1
		    "} = 7;   10 ns   (events were lost meanwhile)   (f)\n");
}

/* However deep, a line does not grow for ever, and what is behind stands where it belongs. */
static void deep(void **state)
{
	struct fixture *f = *state;
	uint64_t time = 0;

	for (unsigned i = 0; i < 1000; i++)
		enter(f, F, 1, ++time);
	f->text.len = 0;
	enter(f, G, 1, ++time);
	leave(f, G, 1, ++time);
	assert_in_range(f->text.len, 200, 400);
	for (unsigned i = 0; i < 1000; i++)
		leave(f, F, 1, ++time);
	f->text.len = 0;
	enter(f, G, 1, ++time);
	leave(f, G, 1, ++time);
	check(f, T1 "g();   1 ns\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nested, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_return, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_entry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(losses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deep, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("sink_tree", tests, NULL, NULL);
}
