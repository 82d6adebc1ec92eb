/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Work that is done by a thread of its own: the thread stays for the next, and one that does not come back is left. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/aside.h"
#include "engine/base/cancel.h"

static int count_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2; /* . and .. */

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

static int count_threads(void)
{
	return count_in("/proc/self/task");
}

/* A thread that was joined or has ended itself may be seen for a moment. */
static void wait_for_threads(int n)
{
	while (count_threads() != n)
		(void)usleep(100);
}

/* Work that notes who does it, and in which state. */
struct note {
	pid_t tid;
	unsigned n;
	bool is_cancelled, has_all_blocked;
};

static void take_note(void *ctx)
{
	struct note *note = ctx;
	sigset_t now;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	note->has_all_blocked = sigismember(&now, SIGTERM) && sigismember(&now, SIGCHLD);
	note->tid = gettid();
	note->is_cancelled = cancel_is_asked();
	note->n++;
}

/* Work that ends when it is told to. */
struct stuck {
	int begun, go; /* eventfds */
	bool was_cancelled;
	int n_released; /* atomic */
};

static void wait_for(int fd)
{
	uint64_t n;

	assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
}

static void get_stuck(void *ctx)
{
	struct stuck *stuck = ctx;

	assert_int_equal(eventfd_write(stuck->begun, 1), 0);
	wait_for(stuck->go);
	stuck->was_cancelled = cancel_is_asked();
}

static void release(void *ctx)
{
	struct stuck *stuck = ctx;

	__atomic_add_fetch(&stuck->n_released, 1, __ATOMIC_RELEASE);
}

static bool yes(void *ctx)
{
	unsigned *n = ctx;

	(*n)++;
	return true;
}

static bool no(void *ctx)
{
	struct stuck *stuck = ctx;

	/* Once is enough: from here on nobody asks any more. */
	wait_for(stuck->begun);
	assert_int_equal(eventfd_write(stuck->go, 1), 0);
	return false;
}

static struct stuck new_stuck(void)
{
	return (struct stuck){ .begun = eventfd(0, EFD_CLOEXEC),
			       .go = eventfd(0, EFD_CLOEXEC) };
}

static void free_stuck(struct stuck *stuck)
{
	(void)close(stuck->begun);
	(void)close(stuck->go);
}

/* --- the thread stays ------------------------------------------------------------------- */

static void one_thread_does_it_all(void **state)
{
	int fds = count_in("/proc/self/fd");
	struct note first = { 0 }, note = { 0 };
	struct aside *aside = NULL;
	struct aside_late late;

	(void)state;
	aside_free(NULL);
	assert_int_equal(aside_do(&aside, take_note, &first, NULL, &late), ASIDE_DONE);
	assert_non_null(aside);
	assert_int_not_equal(first.tid, gettid());
	assert_true(first.has_all_blocked);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(aside_do(&aside, take_note, &note, NULL, &late), ASIDE_DONE);
		assert_int_equal(note.tid, first.tid);
		assert_false(note.is_cancelled);
	}
	assert_int_equal(note.n, 1000);
	assert_int_equal(count_threads(), 2);
	aside_free(aside);
	wait_for_threads(1);
	assert_int_equal(count_in("/proc/self/fd"), fds);
}

static void who_is_not_over_waits(void **state)
{
	struct stuck stuck = new_stuck();
	struct ubp_until until = { .fd = stuck.begun, .is_over = no, .ctx = &stuck };
	struct aside *aside = NULL;
	struct aside_late late;

	(void)state;
	assert_int_equal(aside_do(&aside, get_stuck, &stuck, &until, &late), ASIDE_DONE);
	assert_false(stuck.was_cancelled);
	aside_free(aside);
	free_stuck(&stuck);
}

/* --- the thread is left ----------------------------------------------------------------- */

static struct aside *leave_stuck(struct aside *aside, struct stuck *stuck)
{
	unsigned n_asked = 0;
	struct ubp_until until = { .fd = stuck->begun, .is_over = yes, .ctx = &n_asked };
	struct aside_late late;

	assert_int_equal(aside_do(&aside, get_stuck, stuck, &until, &late), ASIDE_OVER);
	assert_int_equal(n_asked, 1);
	return aside;
}

static void one_that_is_stuck_is_left(void **state)
{
	int fds = count_in("/proc/self/fd");
	struct stuck stuck = new_stuck();
	struct note before = { 0 }, after = { 0 };
	struct aside *aside = NULL, *left;
	struct aside_late late;

	(void)state;
	assert_int_equal(aside_do(&aside, take_note, &before, NULL, &late), ASIDE_DONE);
	left = leave_stuck(aside, &stuck);
	assert_true(aside_leave(left, release, &stuck));
	/* The next one has a thread of its own, which is not told to give up. */
	aside = NULL;
	assert_int_equal(aside_do(&aside, take_note, &after, NULL, &late), ASIDE_DONE);
	assert_int_not_equal(after.tid, before.tid);
	assert_false(after.is_cancelled);
	assert_int_equal(count_threads(), 3);
	assert_int_equal(__atomic_load_n(&stuck.n_released, __ATOMIC_ACQUIRE), 0);
	assert_int_equal(eventfd_write(stuck.go, 1), 0);
	wait_for_threads(2);
	assert_int_equal(__atomic_load_n(&stuck.n_released, __ATOMIC_ACQUIRE), 1);
	assert_true(stuck.was_cancelled);
	aside_free(aside);
	wait_for_threads(1);
	free_stuck(&stuck);
	assert_int_equal(count_in("/proc/self/fd"), fds);
}

static bool yes_and_go(void *ctx)
{
	struct stuck *stuck = ctx;

	assert_int_equal(eventfd_write(stuck->go, 1), 0);
	return true;
}

static void one_that_gives_up_is_not_left(void **state)
{
	int fds = count_in("/proc/self/fd");
	struct stuck stuck = new_stuck();
	struct ubp_until until = { .fd = stuck.begun, .is_over = yes_and_go, .ctx = &stuck };
	struct aside *aside = NULL;
	struct aside_late late;
	bool goes_on;

	(void)state;
	assert_int_equal(aside_do(&aside, get_stuck, &stuck, &until, &late), ASIDE_OVER);
	/* On a machine that is so slow that half a second was not enough, it does. */
	goes_on = aside_leave(aside, release, &stuck);
	wait_for_threads(1);
	assert_int_equal(stuck.n_released, goes_on);
	free_stuck(&stuck);
	assert_int_equal(count_in("/proc/self/fd"), fds);
}

/* --- the thread is late ----------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void take_long(void *ctx)
{
	int *is_given_up = ctx;

	aside_limit("a file", cpu_ns() + 1000000, 5);
	while (!cancel_is_asked())
		continue;
	__atomic_store_n(is_given_up, 1, __ATOMIC_RELEASE);
	aside_limit(NULL, 0, 0);
}

static void use_time(void *ctx)
{
	uint64_t end = cpu_ns() + 150000000; /* more than one look */

	(void)ctx;
	while (cpu_ns() < end)
		continue;
}

static void one_that_is_late_is_told(void **state)
{
	int is_given_up = 0;
	struct aside *aside = NULL;
	struct aside_late late = { 0 };

	(void)state;
	/* What the thread has had for other work does not count, and no limit is none. */
	assert_int_equal(aside_do(&aside, use_time, NULL, NULL, &late), ASIDE_DONE);
	assert_int_equal(aside_do(&aside, take_long, &is_given_up, NULL, &late), ASIDE_LATE);
	assert_string_equal(late.path, "a file");
	assert_int_equal(late.limit_ns, 5);
	while (!__atomic_load_n(&is_given_up, __ATOMIC_ACQUIRE))
		(void)usleep(100);
	/* Nobody says when it stood behind its last line: either is right, and then it ends. */
	(void)aside_leave(aside, use_time, NULL);
	wait_for_threads(1);
}

/* --- fork() ----------------------------------------------------------------------------- */

static int work_in_child(struct aside *aside, struct aside *left, struct stuck *stuck)
{
	struct note note = { 0 };
	struct aside_late late;

	if (aside_do(&aside, take_note, &note, NULL, &late) != ASIDE_DONE || note.n != 1)
		return 1;
	if (count_threads() != 2)
		return 2;
	aside_free(aside);
	if (!aside_leave(left, release, stuck) || stuck->n_released)
		return 3;
	return 0;
}

static void a_child_has_a_thread_of_its_own(void **state)
{
	struct stuck stuck = new_stuck();
	struct note note = { 0 };
	struct aside *aside = NULL, *left = leave_stuck(NULL, &stuck);
	struct aside_late late;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(aside_do(&aside, take_note, &note, NULL, &late), ASIDE_DONE);
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		_exit(work_in_child(aside, left, &stuck));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Ours is not disturbed. */
	assert_int_equal(note.n, 1);
	assert_int_equal(aside_do(&aside, take_note, &note, NULL, &late), ASIDE_DONE);
	assert_int_equal(note.n, 2);
	aside_free(aside);
	assert_true(aside_leave(left, release, &stuck));
	assert_int_equal(eventfd_write(stuck.go, 1), 0);
	wait_for_threads(1);
	free_stuck(&stuck);
}

/* A child that only drops what it was given. */
static void a_child_may_free_it(void **state)
{
	struct note note = { 0 };
	struct aside *aside = NULL;
	struct aside_late late;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(aside_do(&aside, take_note, &note, NULL, &late), ASIDE_DONE);
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		aside_free(aside);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	aside_free(aside);
	wait_for_threads(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_does_it_all),
		cmocka_unit_test(who_is_not_over_waits),
		cmocka_unit_test(one_that_is_stuck_is_left),
		cmocka_unit_test(one_that_gives_up_is_not_left),
		cmocka_unit_test(one_that_is_late_is_told),
		cmocka_unit_test(a_child_has_a_thread_of_its_own),
		cmocka_unit_test(a_child_may_free_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
