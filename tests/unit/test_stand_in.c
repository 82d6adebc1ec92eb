/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Memory that may not answer: how it is told, and the process that reads in the tracer's place. */

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/page.h"
#include "engine/trace/care.h"
#include "engine/trace/mem.h"

/* This process, seen as another one. */
static struct stand_in stand_in;
static struct trace_mem mem;
static struct mem_care care;

static int start(void **state)
{
	(void)state;
	stand_in = (struct stand_in){ 0 };
	mem = (struct trace_mem){ .file = { .fd = -1, .pid = getpid() } };
	care = (struct mem_care){ .stand_in = &stand_in, .file = &mem.file, .serial = 1 };
	return 0;
}

/* All that is read and written of it goes by the stand-in. */
static void ask_stand_in(void)
{
	care.care_until_ns = UINT64_MAX;
	mem.care = &care;
}

static void own_memory_answers(void **state)
{
	static struct silent_map map;
	uint64_t here = (uintptr_t)&map, there = (uintptr_t)&here;

	(void)state;
	assert_int_equal(silent_look(getpid(), true, &map), 0);
	assert_int_equal(silent_in(&map, here, here + 1), SILENT_NOT);
	assert_int_equal(silent_in(&map, there, there + 1), SILENT_NOT);
}

static void ranges_overlap(void **state)
{
	static struct silent_map map = {
		.n = 2,
		.v = { { 0x1000, 0x2000, SILENT_FILE }, { 0x5000, 0x6000, SILENT_UFFD } },
	};

	(void)state;
	assert_int_equal(silent_in(&map, 0, 0x1000), SILENT_NOT);
	assert_int_equal(silent_in(&map, 0, 0x1001), SILENT_FILE);
	assert_int_equal(silent_in(&map, 0x2000, 0x5000), SILENT_NOT);
	assert_int_equal(silent_in(&map, 0x5fff, 0x9000), SILENT_UFFD);
	map.is_cut = true;
	assert_int_equal(silent_in(&map, 0x2000, 0x5000), SILENT_FILE);
}

/* One that was killed may need a moment to end, beside others that want the processor; nobody else is left. */
static void all_are_killed(void)
{
	int status;

	while (waitpid(-1, &status, __WALL) > 0)
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(errno, ECHILD);
}

static void reads_like_anybody(void **state)
{
	static uint8_t large[40 * PAGE], got[sizeof(large)];
	uint8_t *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct fetch_span spans[] = {
		{ .vaddr = (uintptr_t)large, .len = sizeof(large), .buf = got },
		{ .vaddr = (uintptr_t)two + PAGE - 8, .len = 16, .buf = got + 1 },
		{ .vaddr = 8, .len = 8, .buf = got },
	};

	(void)state;
	assert_ptr_not_equal(two, MAP_FAILED);
	assert_int_equal(mprotect(two + PAGE, PAGE, PROT_NONE), 0);
	memset(two, 7, PAGE);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (uint8_t)(i / 5);
	/* What is asked about is there by then: the child must not read a copy. */
	care_read(&care, getpid(), spans, 1);
	assert_int_equal(spans[0].got, sizeof(large));
	assert_memory_equal(large, got, sizeof(large));
	care_read(&care, getpid(), spans + 1, 2);
	assert_int_equal(spans[1].got, 8);
	assert_int_equal(got[1], 7);
	assert_int_equal(spans[2].got, 0);
	assert_true(care_answers(&care, getpid(), (uintptr_t)large, sizeof(large)));
	assert_int_equal(care.n_unanswered, 0);
	stand_in_end(&stand_in);
	all_are_killed();
	munmap(two, 2 * PAGE);
}

/* In order, many by one request; what cannot be written ends it, or is passed over. */
static void writes_come_in_order(void **state)
{
	struct mem_writes all = { .mem = &mem }, some = { .mem = &mem, .goes_on = true };
	static uint8_t to[1000], zeros[2 * MEM_WRITES_ROOM], large[sizeof(zeros)];
	uint64_t at = (uintptr_t)to;
	size_t len = sizeof(large);

	(void)state;
	ask_stand_in();
	memset(large, 7, len);
	for (uint32_t i = 0; i < sizeof(to); i++)
		mem_writes_add(&all, at + i, &(uint8_t){ (uint8_t)(i % 250) }, 1);
	mem_writes_add(&all, at + 5, "x", 1);
	assert_int_equal(to[sizeof(to) - 1], 0); /* it waits */
	mem_writes_add(&all, (uintptr_t)zeros, large, len);
	assert_memory_equal(zeros, large, len);
	assert_int_equal(mem_writes_end(&all), 0);
	assert_int_equal(to[5], 'x');
	assert_int_equal(to[sizeof(to) - 1], 249);
	assert_true(stand_in.n_asked < 20);
	for (struct mem_writes *w = &all; w; w = w == &all ? &some : NULL) {
		memset(to, 0, sizeof(to));
		mem_writes_add(w, at, "a", 1);
		mem_writes_add(w, 8, "b", 1); /* nobody has anything there */
		mem_writes_add(w, at + 2, "c", 1);
		assert_true(mem_writes_end(w) < 0);
		assert_int_equal(to[0], 'a');
		assert_int_equal(to[2], w->goes_on ? 'c' : 0);
	}
	assert_int_equal(care.n_unanswered, 0);
	stand_in_end(&stand_in);
}

/* Pages that follow come with the first; who begins anew sees what is there by then. */
static void pages_are_read_ahead(void **state)
{
	struct mem_view view = { .mem = &mem }, other = { .mem = &mem },
			again = { .mem = &mem };
	uint8_t *pages = mmap(NULL, 21 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uintptr_t)pages;
	uint8_t now[8];

	(void)state;
	ask_stand_in();
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (size_t i = 0; i < 20; i++)
		memset(pages + i * PAGE, (int)i + 1, PAGE);
	assert_int_equal(munmap(pages + 20 * PAGE, PAGE), 0);
	for (size_t i = 0; i < 20; i++) {
		size_t want = i == 19 ? 4 : 8;

		assert_int_equal(mem_view_peek(&view, at + (i + 1) * PAGE - 4, now, 8), want);
		assert_int_equal(now[0], i + 1);
		assert_int_equal(now[want - 1], want == 8 ? i + 2 : i + 1);
		assert_int_equal(mem_view_peek(&other, at + (19 - i) * PAGE, now, 8), 8);
		assert_int_equal(now[0], 20 - i);
	}
	pages[0] = 99;
	assert_int_equal(mem_view_peek(&view, at, now, 1), 1);
	assert_int_equal(now[0], 99); /* it went back */
	pages[PAGE] = 98;
	assert_int_equal(mem_view_peek(&again, at + PAGE, now, 1), 1);
	assert_int_equal(now[0], 98);
	assert_int_equal(mem_view_peek(&again, at + 20 * PAGE, now, 1), 0);
	stand_in_end(&stand_in);
	munmap(pages, 20 * PAGE);
}

/* Far from each other: a view that goes to the same ones as one before has all of them by one request. */
static void pages_are_remembered(void **state)
{
	enum { N = 20, APART = 200 * PAGE };
	uint8_t *pages = mmap(NULL, N * APART, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mem_range ranges[3] = { { .start = 8, .len = PAGE },
				       { .len = 8 },
				       { .len = 1 } };
	uint64_t at = (uintptr_t)pages, before;
	uint8_t now;

	(void)state;
	ask_stand_in();
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (size_t i = 0; i < N; i++)
		pages[i * APART] = 1;
	for (int round = 0; round < 3; round++) {
		struct mem_view view = { .mem = &mem };

		before = stand_in.n_requests;
		for (size_t i = 0; i < N; i++) {
			assert_int_equal(mem_view_peek(&view, at + i * APART, &now, 1), 1);
			assert_int_equal(now, round + 1);
			pages[i * APART]++; /* it has been passed */
		}
		assert_true(round == 0 || stand_in.n_requests - before == 1);
	}
	before = stand_in.n_requests;
	ranges[1].start = at;
	ranges[2].start = at + APART;
	mem_answers_all(&mem, getpid(), ranges, 3);
	assert_true(ranges[0].answers && ranges[1].answers && ranges[2].answers);
	assert_int_equal(stand_in.n_requests - before, 1);
	stand_in_end(&stand_in);
	munmap(pages, N * APART);
}

/* A page that waits for somebody ends neither the one behind it nor those that were looked at before. */
static void others_are_shown_behind_one_that_waits(void **state)
{
	enum { N = 3, APART = 200 * PAGE };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	uint8_t *pages = mmap(NULL, N * APART, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register waits = { .range = { (uintptr_t)pages, PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct mem_view view = { .mem = &mem };
	uint64_t at = (uintptr_t)pages;
	uint8_t now;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &waits) < 0)
		skip();
	ask_stand_in();
	pages[PAGE] = 1;
	pages[APART] = 2;
	mem_expect(&mem, at + APART);
	assert_int_equal(mem_view_peek(&view, at, &now, 1), 0);
	assert_int_equal(care.why, SILENT_UFFD);
	assert_int_equal(mem_view_peek(&view, at + PAGE, &now, 1), 1);
	assert_int_equal(now, 1);
	assert_int_equal(mem_view_peek(&view, at + APART, &now, 1), 1);
	assert_int_equal(now, 2);
	stand_in_end(&stand_in);
	close(fd);
	munmap(pages, N * APART);
}

/* One that does not come back costs a limit, once; then its process is left alone for a time. */
static void stuck_ones_are_given_up(void **state)
{
	struct mem_care other = { .stand_in = &stand_in, .file = &mem.file, .serial = 2 };
	uint64_t word = 5, to = 0;
	struct fetch_span span = { .vaddr = (uintptr_t)&word, .len = 8, .buf = &to };

	(void)state;
	care_read(&care, getpid(), &span, 1);
	assert_int_equal(span.got, 8);
	assert_int_equal(kill(stand_in.pid, SIGSTOP), 0);
	care_read(&care, getpid(), &span, 1);
	assert_int_equal(span.got, 0);
	assert_int_equal(care.why, SILENT_STUCK);
	assert_true(care.mute_ns > 0);
	assert_int_equal(stand_in.pid, 0);
	care_read(&care, getpid(), &span, 1);
	assert_int_equal(span.got, 0);
	assert_int_equal(care.n_unanswered, 2);
	assert_int_equal(stand_in.pid, 0); /* it was not even asked */
	care_read(&other, getpid(), &span, 1);
	assert_int_equal(span.got, 8);
	assert_int_equal(other.n_unanswered, 0);
	stand_in_end(&stand_in);
	all_are_killed();
}

/* Who is killed by somebody else does not cost the process that it was asked about anything. */
static void killed_ones_are_replaced(void **state)
{
	static uint8_t to[8];
	struct mem_writes all = { .mem = &mem };
	uint64_t word = 5, got = 0;
	struct fetch_span span = { .vaddr = (uintptr_t)&word, .len = 8, .buf = &got };
	pid_t first;

	(void)state;
	ask_stand_in();
	care_read(&care, getpid(), &span, 1);
	first = stand_in.pid;
	assert_int_equal(kill(first, SIGKILL), 0);
	word = 6;
	care_read(&care, getpid(), &span, 1);
	assert_int_equal(span.got, 8);
	assert_int_equal(got, 6);
	assert_int_not_equal(stand_in.pid, first);
	assert_int_equal(kill(stand_in.pid, SIGKILL), 0);
	mem_writes_add(&all, (uintptr_t)to, "abc", 3);
	mem_writes_add(&all, (uintptr_t)to + 3, "def", 4);
	assert_int_equal(mem_writes_end(&all), 0);
	assert_string_equal(to, "abcdef");
	assert_int_equal(care.n_unanswered, 0);
	assert_int_equal(care.mute_ns, 0);
	stand_in_end(&stand_in);
	all_are_killed();
}

#define MS 1000000ULL

/* One that waits is late soon, one that computes later; one that did not run is not to blame. */
static void late_is_who_had_time(void **state)
{
	struct stand_in_wait sleeps = { .limit_ns = 50 * MS,
					.waited_ns = 50 * MS,
					.looks = 10 };
	struct stand_in_wait runs = { .limit_ns = 50 * MS,
				      .waited_ns = 2000 * MS,
				      .used_ns = 50 * MS };
	struct stand_in_wait starves = { .limit_ns = 300 * MS,
					 .waited_ns = 5000 * MS,
					 .used_ns = 3 * MS };

	(void)state;
	assert_true(stand_in_is_late(&sleeps));
	sleeps.looks--;
	assert_false(stand_in_is_late(&sleeps));
	assert_true(stand_in_is_late(&runs));
	runs.waited_ns--;
	assert_false(stand_in_is_late(&runs));
	assert_false(stand_in_is_late(&starves));
	starves.waited_ns *= 10;
	assert_true(stand_in_is_late(&starves));
}

/* In a child, which has no room for a desk: 0, as long as it does not crash. */
__attribute__((unused)) static int look_without_room(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_AS, &none) < 0)
		return 1;
	(void)care_is_sure(&care, mem.file.pid);
	return stand_in.pid != 0 || stand_in.desk;
}

/* The same, where no process may be begun; one that is killed is missed, too. */
static int read_without_process(void)
{
	const struct rlimit none = { 0, 0 };
	uint64_t word = 5, to = 0;
	struct fetch_span span = { .vaddr = (uintptr_t)&word, .len = 8, .buf = &to };

	care_read(&care, getpid(), &span, 1);
	/* The kernel counts for root, too, but forbids it nothing. */
	if (span.got != 8 || kill(stand_in.pid, SIGKILL) < 0 ||
	    setrlimit(RLIMIT_NPROC, &none) < 0 || (getuid() == 0 && setuid(65534) < 0))
		return 1;
	for (int i = 0; i < 2; i++) {
		care_read(&care, getpid(), &span, 1);
		if (span.got || stand_in.pid || stand_in.desk)
			return 2 + i;
	}
	care_ask_again(&care);
	care_read(&care, getpid(), &span, 1);
	return span.got || care.why != SILENT_NO_HELP || care.n_unanswered != 3 ? 4 : 0;
}

static void in_child(int (*what)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void one_does_without(void **state)
{
	(void)state;
#ifndef __SANITIZE_ADDRESS__ /* it ends a program that has no room for more */
	in_child(look_without_room);
#endif
	in_child(read_without_process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_memory_answers),
		cmocka_unit_test(ranges_overlap),
		cmocka_unit_test_setup(reads_like_anybody, start),
		cmocka_unit_test_setup(stuck_ones_are_given_up, start),
		cmocka_unit_test_setup(killed_ones_are_replaced, start),
		cmocka_unit_test(late_is_who_had_time),
		cmocka_unit_test_setup(writes_come_in_order, start),
		cmocka_unit_test_setup(pages_are_read_ahead, start),
		cmocka_unit_test_setup(pages_are_remembered, start),
		cmocka_unit_test_setup(others_are_shown_behind_one_that_waits, start),
		cmocka_unit_test_setup(one_does_without, start),
	};

	return cmocka_run_group_tests_name("stand_in", tests, NULL, NULL);
}
