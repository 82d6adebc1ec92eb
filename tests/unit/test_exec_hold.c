/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Who executes a file is held until the tracer says that it has it, whatever the tracer waits for meanwhile; or
 * it is told that it has gone on.
 */

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/trace/exec_hold.h"
#include "tests/unit/temp.h"

#define LIMIT_MS 60000

static struct exec_hold *hold;
static char program[TEMP_LEN];

/* A program that nobody else executes is held: from the start, or once the holder is there. */
static int begin_by(bool (*add)(const struct exec_hold *hold, int fd, bool is_library),
		    bool is_late)
{
	char command[128];
	int fd;

	temp_file(program);
	(void)snprintf(command, sizeof(command), "cp /bin/true %s && chmod 755 %s", program,
		       program);
	assert_int_equal(system(command), 0);
	hold = exec_hold_new(gettid());
	if (!hold)
		return 0;
	fd = open(program, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (is_late)
		assert_true(exec_hold_begin(hold));
	if (!add(hold, fd, false)) {
		if (is_late)
			exec_hold_end(hold);
		exec_hold_free(hold);
		hold = NULL;
	}
	close(fd);
	assert_true(!hold || is_late || exec_hold_begin(hold));
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_by(exec_hold_add, false);
}

static bool add_more(const struct exec_hold *to, int fd, bool is_library)
{
	bool is_late;

	return exec_hold_add_more(to, fd, is_library, &is_late);
}

static int begin_late(void **state)
{
	(void)state;
	return begin_by(add_more, true);
}

static int end(void **state)
{
	(void)state;
	if (hold)
		exec_hold_end(hold);
	exec_hold_free(hold);
	hold = NULL;
	return unlink(program);
}

/* *ret_fd: its other end is closed by the child's exec. */
static pid_t execute(int *ret_fd)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static bool has_executed(int fd, int limit_ms)
{
	struct pollfd poll_fd = { .fd = fd };

	return poll(&poll_fd, 1, limit_ms) == 1;
}

static struct exec_hold_news next_news(void)
{
	struct pollfd poll_fd = { .fd = exec_hold_fd(hold), .events = POLLIN };
	struct exec_hold_news news = { 0 };

	assert_int_equal(poll(&poll_fd, 1, LIMIT_MS), 1);
	assert_true(exec_hold_next(hold, &news));
	return news;
}

static void assert_news(pid_t tid, enum exec_hold_fate fate)
{
	struct exec_hold_news news = next_news();

	assert_int_equal(news.tid, tid);
	assert_int_equal(news.purpose, EXEC_HOLD_EXECUTES);
	assert_int_equal(news.fate, fate);
	assert_int_equal(news.n_untold, 0);
}

static void assert_ends_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A child that waits in its exec. */
static pid_t execute_held(int *ret_fd)
{
	pid_t pid;

	if (!hold)
		skip();
	pid = execute(ret_fd);
	assert_news(pid, EXEC_HOLD_WAITS);
	return pid;
}

/* The tracer, which is about to seize it, waits for a lock, say: that takes longer than many looks at it. */
static void is_held_while_the_tracer_sleeps(void **state)
{
	const struct timespec a_while = { .tv_nsec = 50000000 };
	int fd;
	pid_t pid = execute_held(&fd);

	(void)state;
	exec_hold_taking(hold, pid);
	assert_int_equal(nanosleep(&a_while, NULL), 0);
	assert_false(has_executed(fd, 0));
	exec_hold_done(hold, pid);
	assert_true(has_executed(fd, LIMIT_MS));
	assert_ends_well(pid);
	close(fd);
}

static void is_told_of_when_it_goes_on(void **state)
{
	int fd;
	pid_t pid = execute_held(&fd);

	(void)state;
	assert_news(pid, EXEC_HOLD_EARLY);
	assert_true(has_executed(fd, LIMIT_MS));
	assert_ends_well(pid);
	close(fd);
	/* Who was silent for so long is not waited for again, until it says something. */
	pid = execute(&fd);
	assert_news(pid, EXEC_HOLD_PASSED);
	assert_ends_well(pid);
	close(fd);
}

static pid_t holder_pid(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	if (!file)
		skip(); /* a kernel that does not tell them */
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	(void)fclose(file);
	return pid;
}

static void a_holder_that_does_not_answer_is_late(void **state)
{
	bool is_late = false;
	siginfo_t info;
	pid_t pid;
	int fd;

	(void)state;
	if (!hold)
		skip();
	pid = holder_pid();
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT | __WALL), 0);
	fd = open(program, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_false(exec_hold_add_more(hold, fd, false, &is_late));
	assert_true(is_late);
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_true(exec_hold_add_more(hold, fd, false, &is_late));
	assert_false(is_late);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_held_while_the_tracer_sleeps, begin, end),
		cmocka_unit_test_setup_teardown(is_told_of_when_it_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(is_held_while_the_tracer_sleeps, begin_late,
						end),
		cmocka_unit_test_setup_teardown(a_holder_that_does_not_answer_is_late, begin,
						end),
	};

	return cmocka_run_group_tests_name("exec_hold", tests, NULL, NULL);
}
