/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The child that opens files in our place: what it hands over, and that it keeps nothing. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/os/opener.h"

#define TOO_LARGE (INT64_C(1) << 40)

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

/* Something that is on none of the file systems that are known to answer. */
static int open_pipe(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		return -errno;
	(void)close(fds[1]);
	return fds[0];
}

/* In the child. */
static int find(const char *path, enum opener_want want, struct stat *ret_st)
{
	int fd;

	memset(ret_st, 0, sizeof(*ret_st));
	if (want == OPENER_STAT) {
		ret_st->st_size = count_descriptors();
		return 0;
	}
	if (strcmp(path, "large") == 0)
		ret_st->st_size = TOO_LARGE;
	if (strcmp(path, "short") == 0)
		ret_st->st_size = 1;
	while (strcmp(path, "never") == 0)
		(void)pause();
	if (path[0] != '/')
		return open_pipe();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	return fd;
}

static void files_are_handed_over(void **state)
{
	struct stat st, direct;
	int fd = opener_ask(find, getpid(), "/proc/self/exe", OPENER_FILE, &st);
	char magic[4];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, magic, sizeof(magic)), sizeof(magic));
	assert_memory_equal(magic, "\177ELF", sizeof(magic));
	assert_int_equal(fstat(fd, &direct), 0);
	assert_int_equal(direct.st_ino, st.st_ino);
	close(fd);
	assert_int_equal(opener_ask(find, getpid(), "/nothing", OPENER_FILE, &st), -ENOENT);
}

/* It answers many questions: what it could not copy must not stay open. */
static void nothing_stays_open(void **state)
{
	struct stat before, after, st;

	(void)state;
	assert_int_equal(opener_ask(find, getpid(), "", OPENER_STAT, &before), 0);
	assert_int_equal(opener_ask(find, getpid(), "large", OPENER_FILE, &st), -EFBIG);
	assert_true(opener_ask(find, getpid(), "short", OPENER_FILE, &st) < 0);
	assert_int_equal(opener_ask(find, getpid(), "folder", OPENER_DIR, &st), -ENOTSUP);
	assert_int_equal(close(opener_ask(find, getpid(), "/proc/self/exe", OPENER_FILE, &st)),
			 0);
	assert_int_equal(opener_ask(find, getpid(), "", OPENER_STAT, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A host program's timer breaks each wait for the child off: it ends all the same. */
static void signals_do_not_prolong_a_wait(void **state)
{
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	struct stat st;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &sa, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(opener_ask(find, getpid(), "never", OPENER_FILE, &st), -ETIMEDOUT);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_handed_over),
		cmocka_unit_test(nothing_stays_open),
		cmocka_unit_test(signals_do_not_prolong_a_wait),
	};

	return cmocka_run_group_tests_name("opener", tests, NULL, NULL);
}
