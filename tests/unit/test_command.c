/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A command that can't be traced has not run, and is no child of the host program any more. */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/ubp.h"

/* From now on no process can be seized to be followed through exec. Helpers of ubp's own still can be. */
static int forbid_ptrace(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_SEIZE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PTRACE_O_TRACEEXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -1
		       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int probed(int n);
__attribute__((noinline)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* 0: it has failed, and no child is left; else a number for the place. */
static int start_in_vain(void)
{
	char exe[512], definition[600], *const argv[] = { exe, NULL };
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_session *session = NULL;
	struct ubp_err err;
	int status;

	if (n < 0 || forbid_ptrace() < 0)
		return 77;
	exe[n] = '\0';
	snprintf(definition, sizeof(definition), "p:%s:probed", exe);
	ubp_err_reset(&err);
	if (ubp_session_new(&options, &session, &err) < 0 ||
	    ubp_add(session, definition, NULL, &err) < 0 ||
	    ubp_run_command(session, argv, &err) < 0)
		return 1;
	if (ubp_start(session, &err) == 0)
		return 2;
	if (waitpid(-1, &status, __WALL) != -1 || errno != ECHILD)
		return 3;
	ubp_session_free(session);
	return 0;
}

static void test_no_zombie(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(start_in_vain());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_zombie) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
