/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where an area of ours goes between the mappings of a program. */

#include "engine/os/maps.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/err.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define REACH (0x80000000ULL - 0x4000000)
#define LEN   0x10000ULL

struct gap_vector {
	const char *what;
	struct mapping v[6];
	size_t n;
	uint64_t lo, hi;
	bool none;
};

static const struct gap_vector vectors[] = {
	{
		.what = "below a program at the usual place, above nothing of it",
		.v = { { .start = 0x555555554000, .end = 0x555555560000, .path = "/bin/x" },
		       { .start = 0x555555560000, .end = 0x555555581000, .path = "[heap]" },
		       { .start = 0x7ffff7dc0000, .end = 0x7ffff7fff000, .path = "/lib/c" },
		       { .start = 0x7ffffffde000, .end = 0x7ffffffff000, .path = "[stack]" } },
		.n = 4,
		.lo = 0x555555554000,
		.hi = 0x555555560000,
	},
	{
		.what = "a library: not where the next ones go",
		.v = { { .start = 0x555555554000, .end = 0x555555560000, .path = "/bin/x" },
		       { .start = 0x7ffff7dc0000, .end = 0x7ffff7fff000, .path = "/lib/c" },
		       { .start = 0x7ffffffde000, .end = 0x7ffffffff000, .path = "[stack]" } },
		.n = 3,
		.lo = 0x7ffff7dc0000,
		.hi = 0x7ffff7fff000,
	},
	{
		.what = "a library near the end of what can be mapped: not behind that",
		.v = { { .start = 0x555555554000, .end = 0x555555560000, .path = "/bin/x" },
		       { .start = 0x555555560000, .end = 0x555555581000, .path = "[heap]" },
		       { .start = 0x7ffff7dc0000, .end = 0x7ffff7fff000, .path = "/lib/c" },
		       { .start = 0x7ffffffde000, .end = 0x7ffffffff000, .path = "[stack]" },
		       { .start = 0xffffffffff600000,
			 .end = 0xffffffffff601000,
			 .path = "[vsyscall]" } },
		.n = 5,
		.lo = 0x7ffff7dc0000,
		.hi = 0x7ffff7fff000,
	},
	{
		.what = "a program at a fixed low address",
		.v = { { .start = 0x400000, .end = 0x500000, .path = "/bin/x" },
		       { .start = 0x500000, .end = 0x600000, .path = "[heap]" },
		       { .start = 0x7ffffffde000, .end = 0x7ffffffff000, .path = "[stack]" } },
		.n = 3,
		.lo = 0x400000,
		.hi = 0x500000,
	},
	{
		.what = "nothing free within reach",
		.v = { { .start = 0x10000, .end = 0x200000000, .path = "" },
		       { .start = 0x200000000, .end = 0x200100000, .path = "/bin/x" },
		       { .start = 0x200100000, .end = 0x400000000, .path = "" } },
		.n = 3,
		.lo = 0x200000000,
		.hi = 0x200100000,
		.none = true,
	},
};

static void check_gap(void **state)
{
	const struct gap_vector *v = *state;
	struct maps maps = { .v = (struct mapping *)v->v, .n = v->n };
	uint64_t at = maps_find_gap(&maps, v->lo, v->hi, LEN, REACH);

	if (v->none) {
		assert_int_equal(0, at);
		return;
	}
	assert_int_not_equal(0, at);
	assert_int_equal(0, at % 4096);
	for (size_t i = 0; i < v->n; i++) {
		assert_true(at + LEN <= v->v[i].start || at >= v->v[i].end);
		/* The break grows upwards, libraries are put downwards. */
		if (v->v[i].path[0] == '[')
			assert_true(at < v->v[i].start || at - v->v[i].end > REACH);
	}
	assert_true(v->hi - at < REACH && at + LEN - v->lo + REACH > 0);
	assert_true(at + LEN <= v->lo ? v->hi - at < REACH : at + LEN - v->lo < REACH);
}

/* Where the place cannot be chosen: around what is mapped, and far from what grows. */
static void within(void **state)
{
	static struct mapping v[] = {
		{ .start = 0x400000, .end = 0x800000, .ino = 7, .path = "/program" },
		{ .start = 0x10000000, .end = 0x11000000, .path = "[heap]" },
		{ .start = 0x50000000, .end = 0x50001000, .path = "" },
		{ .start = 0x7fff00000000, .end = 0x7fff00021000, .path = "[stack]" },
		{ .start = 0x7fffff000000, .end = 0x7fffff001000, .path = "[vdso]" },
	};
	static struct mapping no_heap[] = {
		{ .start = 0x400000, .end = 0x800000, .ino = 7, .path = "/program" },
		{ .start = 0x7f0000000000, .end = 0x7f0000001000, .path = "" },
	};
	static const struct {
		uint64_t low, high, at;
	} rows[] = {
		{ 0x20000, 0x20000, 0x20000 },
		{ 0, 0x100000, 0x11000 },  /* what may be mapped, and a page */
		{ 0x3f1000, 0x3f1000, 0 }, /* no page in front of the program */
		{ 0x3ef000, 0x3ef000, 0x3ef000 },
		{ 0x500000, 0x700000, 0 },
		{ 0x700000, 0x900000, 0x801000 },
		{ 0xffee000, 0xfffe000, 0xffee000 },
		{ 0x11001000, 0x20fff000, 0 }, /* the break comes there */
		{ 0x11001000, 0x21002000, 0x21000000 },
		{ 0x4fff0000, 0x50001000, 0 },
		{ 0x4fff0000, 0x50002000, 0x50002000 },
		{ 0x7ffec0000000, 0x7ffeffff0000, 0 }, /* the stack */
		{ 0x7ffe80000000, 0x7ffe80000000, 0x7ffe80000000 },
		{ 0x7fffff002000, 0x7fffff003000, 0 }, /* nothing of ours is above the last */
		{ UINT64_MAX - 0xfff, UINT64_MAX - 0xfff, 0 },
	};
	const struct maps maps = { .v = v, .n = 5 }, other = { .v = no_heap, .n = 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (maps_find_within(&maps, 0, MAPS_BEHIND_HEAP, rows[i].low, rows[i].high,
				     LEN) != rows[i].at)
			fail_msg("[0x%lx, 0x%lx]: 0x%lx, not 0x%lx", (unsigned long)rows[i].low,
				 (unsigned long)rows[i].high,
				 (unsigned long)maps_find_within(&maps, 0, MAPS_BEHIND_HEAP,
								 rows[i].low, rows[i].high,
								 LEN),
				 (unsigned long)rows[i].at);
	/* It may begin anywhere in the gigabyte behind the program. */
	assert_int_equal(
		maps_find_within(&other, 0, MAPS_BEHIND_HEAP, 0x900000, 0x50000000, LEN), 0);
	assert_int_equal(
		maps_find_within(&other, 0, MAPS_BEHIND_HEAP, 0x900000, 0x60000000, LEN),
		0x50800000);
}

static void own_maps(void **state)
{
	const struct mapping *m;
	struct ubp_err err;
	struct maps maps;
	int local = 0;

	(void)state;
	assert_int_equal(0, maps_read(getpid(), &maps, &err));
	m = maps_at(&maps, (uint64_t)(uintptr_t)own_maps);
	assert_non_null(m);
	assert_true(m->exec && !m->write && m->ino != 0);
	assert_true(maps_has_file(&maps, m->dev, m->ino));
	assert_false(maps_has_file(&maps, m->dev, m->ino + 1000000));
	m = maps_at(&maps, (uint64_t)(uintptr_t)&local);
	assert_non_null(m);
	assert_true(m->write && !m->exec);
	assert_null(maps_at(&maps, 8));
	maps_free(&maps);
	assert_int_equal(-ESRCH, maps_read(0x3fffffff, &maps, &err));
}

/* What was read of one that has just ended, and says nothing, is not the caller's to free. */
static void maps_of_a_zombie(void **state)
{
	siginfo_t info;
	struct ubp_err err;
	struct maps maps;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(-ESRCH, maps_read(pid, &maps, &err));
	assert_null(maps.text);
	assert_null(maps.v);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	struct CMUnitTest tests[sizeof(vectors) / sizeof(vectors[0]) + 3];
	size_t n = sizeof(vectors) / sizeof(vectors[0]);

	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){
			.name = vectors[i].what,
			.test_func = check_gap,
			.initial_state = (void *)&vectors[i],
		};
	tests[n] = (struct CMUnitTest)cmocka_unit_test(own_maps);
	tests[n + 1] = (struct CMUnitTest)cmocka_unit_test(maps_of_a_zombie);
	tests[n + 2] = (struct CMUnitTest)cmocka_unit_test(within);
	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
