/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Behind ubp_stop() nobody is traced any more: who waits for a child gets no stop of ubp's. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/trace/task.h"
#include "engine/ubp.h"

#define ROUNDS 40

int probed(int n);
__attribute__((noinline)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static _Noreturn void be_traced(int ready)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!write(ready, "", 1);
	for (int n = 0;; n = probed(n))
		usleep(100);
}

static pid_t start_child(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_traced(ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* Asked without ubp, whose answer is what is tested. */
static bool may_be_traced(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		return false;
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	return true;
}

static void trace(pid_t pid, enum ubp_mode mode, const char *definition)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_session *session = NULL;
	struct ubp_err err;
	int status;

	options.mode = mode;
	options.stay = true; /* that it is traced is looked at */
	options.pids = &pid;
	options.n_pids = 1;
	ubp_err_reset(&err);
	if (ubp_session_new(&options, &session, &err) < 0 ||
	    ubp_add(session, definition, NULL, &err) < 0 || ubp_start(session, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(task_tracer(pid) > 0);
	ubp_stop(session);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_int_equal(task_tracer(pid), 0);
	ubp_session_free(session);
}

static void lets_go(void **state)
{
	char exe[512], definition[600];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	pid_t pid = start_child();
	int status;

	(void)state;
	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(definition, sizeof(definition), "p:%s:probed", exe);
	if (!may_be_traced(pid)) {
		kill(pid, SIGKILL);
		skip();
	}
	for (int i = 0; i < ROUNDS; i++)
		trace(pid, i % 2 ? UBP_MODE_TRAP : UBP_MODE_AUTO, definition);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lets_go) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
