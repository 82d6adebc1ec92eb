/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Behind ubp_stop() nobody is traced any more: who waits for a child gets no stop of ubp's. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/session/ubp.h"

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

static int tracer_of(pid_t pid)
{
	char line[128];
	int tracer = -1;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	f = fopen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "TracerPid: %d", &tracer) != 1)
		;
	fclose(f);
	return tracer;
}

/* False: nobody may be traced here. */
static bool trace(pid_t pid, enum ubp_mode mode, const char *definition)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_session *session = NULL;
	struct ubp_err err;
	int rc, status;

	options.mode = mode;
	options.pids = &pid;
	options.n_pids = 1;
	ubp_err_reset(&err);
	rc = ubp_session_new(&options, &session, &err);
	if (rc == 0)
		rc = ubp_add(session, definition, NULL, &err);
	if (rc == 0)
		rc = ubp_start(session, &err);
	if (rc == 0) {
		ubp_stop(session);
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		assert_int_equal(tracer_of(pid), 0);
	}
	ubp_session_free(session);
	if (rc < 0 && rc != -EPERM)
		fail_msg("%s", err.text);
	return rc == 0;
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
	for (int i = 0; i < ROUNDS; i++)
		if (!trace(pid, i % 2 ? UBP_MODE_TRAP : UBP_MODE_AUTO, definition)) {
			kill(pid, SIGKILL);
			skip();
		}
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lets_go) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
