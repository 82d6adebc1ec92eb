/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Descriptors between us and our children, and children that are given up. */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/descriptors.h"
#include "engine/base/lost.h"

static int next_descriptor(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

static void pass_a_descriptor(void **state)
{
	struct stat of_a, of_b;
	int sockets[2], fd, null = open("/dev/null", O_RDONLY | O_CLOEXEC), before;
	uint32_t word = 7, got = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_true(descriptors_send(sockets[0], &word, sizeof(word), null, 0));
	assert_true(descriptors_receive(sockets[1], &got, sizeof(got), &fd, MSG_DONTWAIT));
	assert_int_equal(got, 7);
	assert_true(fd >= 0 && fd != null);
	assert_int_equal(fstat(null, &of_a), 0);
	assert_int_equal(fstat(fd, &of_b), 0);
	assert_true(of_a.st_rdev == of_b.st_rdev);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)close(fd);

	assert_true(descriptors_send(sockets[0], &word, sizeof(word), -1, 0));
	assert_true(descriptors_receive(sockets[1], &got, sizeof(got), &fd, MSG_DONTWAIT));
	assert_int_equal(fd, -1);
	assert_false(descriptors_receive(sockets[1], &got, sizeof(got), &fd, MSG_DONTWAIT));

	/* What comes with a message of another length does not stay open. */
	before = next_descriptor();
	assert_true(descriptors_send(sockets[0], &word, 3, null, 0));
	assert_false(descriptors_receive(sockets[1], &got, sizeof(got), &fd, MSG_DONTWAIT));
	assert_int_equal(fd, -1);
	assert_int_equal(next_descriptor(), before);

	/* Nobody is there any more: no signal. */
	(void)close(sockets[1]);
	assert_false(descriptors_send(sockets[0], &word, sizeof(word), null, 0));
	(void)close(sockets[0]);
	(void)close(null);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return pid;
}

static void room_comes_back(void **state)
{
	struct lost lost = { 0 };

	(void)state;
	for (int i = 0; i < LOST_MAX; i++) {
		assert_true(lost_has_room(&lost));
		lost.pids[i] = sleeper();
	}
	assert_false(lost_has_room(&lost));
	assert_int_equal(kill(lost.pids[3], SIGKILL), 0);
	while (!lost_has_room(&lost))
		;
	assert_int_equal(lost.pids[3], 0);
	lost_add(&lost, sleeper());
	assert_true(lost.pids[3] > 0);
	for (int i = 0; i < LOST_MAX; i++) {
		pid_t pid = lost.pids[i];

		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		lost_forget(&lost, pid);
	}
	assert_true(lost_has_room(&lost));
	assert_int_equal(lost.pids[0], 0);
}

/* The number of a child that was waited for may be a stranger's. */
static void no_stranger_is_killed(void **state)
{
	struct lost lost = { 0 };
	int word[2], wstatus;
	pid_t child, other = 0;
	char byte;

	(void)state;
	assert_int_equal(pipe2(word, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		other = sleeper();
		_exit(write(word[1], &other, sizeof(other)) != sizeof(other) ||
		      waitpid(other, &wstatus, 0) != other || WTERMSIG(wstatus) != SIGTERM);
	}
	assert_int_equal(read(word[0], &other, sizeof(other)), sizeof(other));
	lost_add(&lost, other);
	assert_int_equal(lost.pids[0], 0);
	assert_int_equal(kill(other, SIGTERM), 0);
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_int_equal(wstatus, 0);
	(void)close(word[1]);
	assert_int_equal(read(word[0], &byte, 1), 0);
	(void)close(word[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pass_a_descriptor),
		cmocka_unit_test(room_comes_back),
		cmocka_unit_test(no_stranger_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
