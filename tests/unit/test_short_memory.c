/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracer is short of memory: each of its allocations fails once. When a traced process forks, the child
 * does its work, and nothing of ours is left in it, or that is told. What could not be made a jump for that
 * becomes one later.
 */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_priv.h"
#include "engine/ubp.h"
#include "engine/ubp_stats.h"
#include "tests/unit/short_memory.h"

#define LIMIT_S     120
#define COLLECT_MAX 0x800 /* length of the function, at most */
#define AT_MOST     2000  /* allocations at one fork */
#define SIGSET_LEN  8     /* of the kernel's sigset_t */

/* --- memory ------------------------------------------------------------------------------- */

static atomic_int left;        /* allocations of other threads until one fails; 0: none does */
static atomic_bool has_failed; /* one did */
static atomic_int batches;     /* so many times there is none for a pass that makes jumps */
static __thread bool is_test;  /* this thread's do not count */

/* A pass that makes jumps: other structs are as large. */
static bool is_batch(const void *caller, size_t len)
{
	uint64_t from = (uint64_t)(uintptr_t)caller - (uint64_t)(uintptr_t)jump_collect;

	return len == sizeof(struct jump_batch) && from < COLLECT_MAX;
}

static bool allocation_fails(const void *caller, size_t len)
{
	if (batches > 0 && is_batch(caller, len)) {
		batches--;
		return true;
	}
	if (is_test || left == 0 || atomic_fetch_sub(&left, 1) != 1)
		return false;
	has_failed = true;
	return true;
}

/* --- the target --------------------------------------------------------------------------- */

int probed(int n);
__attribute__((noinline)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

enum { WORKS = 1, IS_CLEAN = 2 };

/* What a child says of itself. */
static int look_at_self(const uint8_t *code)
{
	struct kernel_action action = { 0 };
	int n = 0;

	for (int i = 0; i < 100; i++)
		n = probed(n);
	/* By a call that nobody has changed. */
	if (syscall(SYS_rt_sigaction, SIGTRAP, NULL, &action, SIGSET_LEN) < 0)
		return 0;
	return (n == 100 ? WORKS : 0) |
	       (!action.handler && memcmp((const void *)(uintptr_t)probed, code, 16) == 0
			? IS_CLEAN
			: 0);
}

/* For each byte a child, and what it said. */
static _Noreturn void be_target(int in, int out)
{
	uint8_t code[16];
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	memcpy(code, (const void *)(uintptr_t)probed, sizeof(code));
	while (write(out, "", 1) == 1 && read(in, &byte, 1) == 1) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			alarm(LIMIT_S);
			_exit(look_at_self(code));
		}
		while (waitpid(pid, &status, 0) < 0)
			;
		byte = (char)(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
		if (write(out, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

struct target {
	pid_t pid;
	int in, out;
};

static char take_byte(const struct target *t)
{
	char byte = 0;

	assert_int_equal(read(t->out, &byte, 1), 1);
	return byte;
}

static struct target start(void)
{
	int in[2], out[2];
	struct target t;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	t.pid = fork();
	assert_true(t.pid >= 0);
	if (t.pid == 0)
		be_target(in[0], out[1]);
	close(in[0]);
	close(out[1]);
	t.in = in[1];
	t.out = out[0];
	(void)take_byte(&t);
	return t;
}

/* --- the session -------------------------------------------------------------------------- */

static unsigned n_told;   /* at once, of one child */
static unsigned n_in_all; /* in the end: those of which nothing was known */
static unsigned
	n_unclean; /* children with something of ours, of which nothing was told at once */

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	if (strstr(text, "not taken up"))
		n_in_all += (unsigned)strtoul(text, NULL, 10);
	else
		n_told++;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx, (void)event;
	return 0;
}

static struct ubp_session *prepare(const struct target *t, enum ubp_mode mode)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_session *session = NULL;
	char exe[512], definition[600];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct ubp_err err;

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(definition, sizeof(definition), "p:%s:probed", exe);
	options.mode = mode;
	options.pids = &t->pid;
	options.n_pids = 1;
	options.warn = warn;
	options.stay = true; /* children of others are nobody's business */
	ubp_err_reset(&err);
	if (ubp_session_new(&options, &session, &err) < 0 ||
	    ubp_add(session, definition, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return session;
}

static struct ubp_session *trace(const struct target *t, enum ubp_mode mode)
{
	struct ubp_session *session = prepare(t, mode);
	struct ubp_err err;

	ubp_err_reset(&err);
	if (ubp_start(session, &err) < 0)
		fail_msg("%s", err.text);
	return session;
}

static void fork_short(const struct target *t, struct ubp_session *session, int k)
{
	unsigned told = n_told;
	struct ubp_err err;
	char said;

	has_failed = false;
	left = k;
	assert_int_equal(write(t->in, "", 1), 1);
	said = take_byte(t);
	(void)take_byte(t);
	left = 0;
	(void)ubp_dispatch(session, on_event, NULL, &err);
	if (!(said & WORKS))
		fail_msg("allocation %d: the child does not do its work", k);
	n_unclean += !(said & IS_CLEAN) && n_told == told;
}

static void leaves_children(enum ubp_mode mode)
{
	struct target t = start();
	struct ubp_session *session = trace(&t, mode);
	struct ubp_err err;
	int k = 0;

	n_unclean = n_in_all = 0;
	do
		fork_short(&t, session, ++k);
	while (has_failed && k < AT_MOST);
	assert_true(k > 10);
	ubp_stop(session);
	(void)ubp_dispatch(session, on_event, NULL, &err);
	assert_true(n_unclean <= n_in_all);
	ubp_session_free(session);
	kill(t.pid, SIGKILL);
	assert_int_equal(waitpid(t.pid, NULL, 0), t.pid);
	close(t.in);
	close(t.out);
}

/* --- jumps -------------------------------------------------------------------------------- */

static _Noreturn void be_busy(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int n = 0;; n = probed(n))
		usleep(100);
}

static void becomes_a_jump(void **state)
{
	struct target t = { .pid = fork() };
	struct ubp_session *session;
	struct ubp_probe_stats stats;
	struct ubp_err err;

	(void)state;
	if (t.pid == 0)
		be_busy();
	batches = 3;
	session = trace(&t, UBP_MODE_AUTO);
	do { /* alarm() ends it */
		usleep(1000);
		(void)ubp_dispatch(session, on_event, NULL, &err);
		ubp_probe_stats(session, 0, &stats);
	} while (!stats.jumped);
	assert_int_equal(batches, 0);
	assert_int_equal(stats.jumped, 1);
	ubp_stop(session);
	ubp_session_free(session);
	kill(t.pid, SIGKILL);
	assert_int_equal(waitpid(t.pid, NULL, 0), t.pid);
}

static void leaves_children_of_breakpoints(void **state)
{
	(void)state;
	leaves_children(UBP_MODE_TRAP);
}

static void leaves_children_of_jumps(void **state)
{
	(void)state;
	leaves_children(UBP_MODE_AUTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(leaves_children_of_breakpoints),
					    cmocka_unit_test(leaves_children_of_jumps),
					    cmocka_unit_test(becomes_a_jump) };

	is_test = true;
	alarm(LIMIT_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
