/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files of /proc that are longer than one would think, names as long as they may be, namespaces. */

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/proc.h"

#define GROUPS 4000

static void reads_a_beginning(void **state)
{
	char text[16] = "before";

	(void)state;
	assert_int_equal(proc_read("/proc/self/status", text, 6), 5);
	assert_string_equal(text, "Name:");
	assert_int_equal(proc_read("/proc/self/nothing", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_null(proc_read_all("/proc/self/nothing"));
}

/* What stands behind the groups is there, too. */
static void reads_all_of_many_groups(void **state)
{
	static gid_t groups[GROUPS];
	uint64_t caught = 0;
	char *status;
	int fds[2], wstatus;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < GROUPS; i++)
		groups[i] = (gid_t)(100000 + i);
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		char byte;

		signal(SIGUSR2, _exit);
		if (setgroups(GROUPS, groups) < 0)
			_exit(77);
		close(fds[1]);
		_exit(read(fds[0], &byte, 1) < 0);
	}
	close(fds[0]);
	do {
		status = proc_read_status(child);
		if (status && strlen(status) > sizeof(groups))
			break;
		free(status);
		status = NULL;
	} while (waitpid(child, &wstatus, WNOHANG) == 0);
	if (!status && WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 77)
		skip();
	assert_non_null(status);
	assert_int_equal(proc_number(status, "\nTgid:"), child);
	assert_true(proc_number(status, "\nvoluntary_ctxt_switches:") >= 0);
	assert_true(proc_bits(status, "\nSigCgt:", &caught));
	assert_true(caught >> (SIGUSR2 - 1) & 1);
	free(status);
	close(fds[1]);
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_int_equal(wstatus, 0);
}

static void tells_what_is_not_there(void **state)
{
	uint64_t bits = 5;

	(void)state;
	assert_int_equal(proc_number("Name:\tx\nPid:\t7\n", "\nPid:"), 7);
	assert_int_equal(proc_number("Name:\tx\n", "\nPid:"), -1);
	assert_int_equal(proc_own_id("\nNStgid:\t900\t70\t7\nNSpid:\t901\t8\n", "\nNStgid:"),
			 7);
	assert_int_equal(proc_own_id("\nNStgid:\t900\nNSpid:\t901\n", "\nNSpid:"), 901);
	assert_int_equal(proc_own_id("\nPid:\t900\n", "\nNSpid:"), 0);
	assert_int_equal(proc_number(NULL, "\nPid:"), -1);
	assert_true(proc_bits("Name:\tx\nCapEff:\t000001ffffffffff\n", "\nCapEff:", &bits));
	assert_true(bits == 0x1ffffffffffULL);
	assert_false(proc_bits("Name:\tx\n", "\nCapEff:", &bits));
	assert_false(proc_bits(NULL, "\nCapEff:", &bits));
}

static void reads_names(void **state)
{
	static const char *const names[] = { "", "x", "fifteen letters", "line\n", "\n" };
	char comm[16], before[16];

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memset(comm, 0x5a, sizeof(comm));
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		assert_true(proc_read_comm(gettid(), comm));
		assert_string_equal(comm, names[i]);
		assert_int_equal(comm[15], 0);
	}
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void compares_namespaces(void **state)
{
	pid_t child;
	int fds[2], wstatus;
	char byte = 0;

	(void)state;
	assert_int_equal(proc_same_namespace(0, getpid(), "pid"), 1);
	assert_int_equal(proc_same_namespace(getpid(), getpid(), "user"), 1);
	assert_int_equal(proc_same_namespace(0, getpid(), "none"), -ENOENT);
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		byte = unshare(CLONE_NEWUTS) == 0;
		_exit(write(fds[1], &byte, 1) != 1 || pause());
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(proc_same_namespace(0, child, "uts"), byte ? 0 : 1);
	assert_int_equal(proc_same_namespace(child, 0, "pid"), 1);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_int_equal(proc_same_namespace(0, child, "uts"), -ENOENT);
	assert_false(proc_read_comm(child, (char[16]){ 0 }));
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_beginning),
		cmocka_unit_test(reads_all_of_many_groups),
		cmocka_unit_test(tells_what_is_not_there),
		cmocka_unit_test(reads_names),
		cmocka_unit_test(compares_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
