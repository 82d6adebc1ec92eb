/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files of /proc that are longer than one would think, names as long as they may be, namespaces. */

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* --- ids in a namespace below ---------------------------------------------------------- */

#define NOBODY 3000000

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* It has a thread that is 2 in there, and a child that is 3. */
static void be_first(int ready)
{
	pthread_t thread;
	pid_t child = -1;

	if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
		child = fork();
	if (child > 0 && write(ready, "", 1) != 1)
		_exit(1);
	if (child >= 0)
		wait_for_ever(NULL);
	_exit(1);
}

static void make_first(int told)
{
	int ready[2];
	char byte;
	pid_t first;

	if (pipe(ready) < 0 ||
	    (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0))
		_exit(77);
	first = fork();
	if (first == 0)
		be_first(ready[1]);
	if (first < 0 || read(ready[0], &byte, 1) != 1 ||
	    write(told, &first, sizeof(first)) != sizeof(first))
		_exit(1);
	_exit(waitpid(first, NULL, 0) != first);
}

static pid_t second_thread(pid_t pid)
{
	const struct dirent *entry;
	char path[64];
	pid_t tid = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
			tid = atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return tid;
}

static bool are_found(pid_t first)
{
	pid_t thread = second_thread(first);

	return thread && proc_is_below(first) == 1 && proc_own_tid(first) == 1 &&
	       proc_own_tid(thread) == 2 && proc_find_thread(first, 1) == first &&
	       proc_find_thread(first, 2) == thread && proc_find_thread(first, 3) == 0 &&
	       proc_find_thread(first, NOBODY) == 0;
}

/* As where the kernel cannot be asked. */
static void find_without_asking(pid_t first)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		_exit(77);
	_exit(!are_found(first));
}

static void finds_threads_of_another_namespace(void **state)
{
	int told[2], wstatus;
	pid_t maker, first, finder;
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(told), 0);
	maker = fork();
	if (maker == 0)
		make_first(told[1]);
	close(told[1]);
	n = read(told[0], &first, sizeof(first));
	close(told[0]);
	if (n == sizeof(first)) {
		assert_true(are_found(first));
		finder = fork();
		if (finder == 0)
			find_without_asking(first);
		assert_int_equal(waitpid(finder, &wstatus, 0), finder);
		assert_true(wstatus == 0 || wstatus == 77 << 8);
		(void)kill(first, SIGKILL);
	}
	assert_int_equal(waitpid(maker, &wstatus, 0), maker);
	if (wstatus == 77 << 8)
		skip();
	assert_int_equal(wstatus, 0);
	assert_int_equal(proc_find_thread(first, 1), 0);
	assert_int_equal(proc_is_below(first), -1);
}

static void finds_threads_of_ours(void **state)
{
	(void)state;
	assert_int_equal(proc_is_below(getpid()), 0);
	assert_int_equal(proc_own_tid(getpid()), getpid());
	assert_int_equal(proc_find_thread(getpid(), getpid()), getpid());
	assert_int_equal(proc_find_thread(getpid(), getppid()), 0);
	assert_int_equal(proc_own_tid(NOBODY), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_beginning),
		cmocka_unit_test(reads_all_of_many_groups),
		cmocka_unit_test(tells_what_is_not_there),
		cmocka_unit_test(reads_names),
		cmocka_unit_test(compares_namespaces),
		cmocka_unit_test(finds_threads_of_another_namespace),
		cmocka_unit_test(finds_threads_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
