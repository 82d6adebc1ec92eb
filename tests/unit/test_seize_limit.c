/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Threads are seized in limited time, and what the host program does with signals stays as it was. The process that keeps
 * us waiting executes a program, and that waits for us to reap another thread of it.
 */

#include "engine/trace/seize_limit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/trace/seize_late.h"
#include "engine/trace/task.h"

#define SHORT_NS 20000000ULL    /* for what is not to come */
#define LONG_NS  60000000000ULL /* for what is */

struct child {
	pid_t pid, tid; /* .tid is ours, and has ended */
	bool is_in_exec;
};

static void *second(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)!write(*(int *)arg, &tid, sizeof(tid));
	for (;;)
		pause();
	return NULL;
}

static void run_child(int go, int tids)
{
	pthread_t thread;
	char c;

	if (pthread_create(&thread, NULL, second, &tids) || read(go, &c, 1) != 1)
		_exit(1);
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void begin(struct child *child)
{
	int go[2], tids[2];
	siginfo_t si;

	assert_int_equal(0, pipe(go));
	assert_int_equal(0, pipe(tids));
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0)
		run_child(go[0], tids[1]);
	assert_int_equal(sizeof(child->tid), read(tids[0], &child->tid, sizeof(child->tid)));
	child->is_in_exec = ptrace(PTRACE_SEIZE, child->tid, 0, PTRACE_O_EXITKILL) == 0;
	assert_int_equal(1, write(go[1], "x", 1));
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(tids[i]);
	}
	if (!child->is_in_exec) {
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
		skip(); /* as where nobody may be traced */
	}
	assert_int_equal(0, waitid(P_PID, (id_t)child->tid, &si, WEXITED | WNOWAIT | __WALL));
}

static void let_it_execute(struct child *child)
{
	assert_int_equal(child->tid, waitpid(child->tid, NULL, __WALL));
	child->is_in_exec = false;
}

static void end(struct child *child)
{
	kill(child->pid, SIGKILL);
	if (child->is_in_exec)
		let_it_execute(child);
	while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static bool is_default(int sig)
{
	struct sigaction sa;

	assert_int_equal(0, sigaction(sig, NULL, &sa));
	return !(sa.sa_flags & SA_SIGINFO) && sa.sa_handler == SIG_DFL;
}

static void comes_back(void **state)
{
	struct seize_limit limit;
	struct child child;

	(void)state;
	begin(&child);
	assert_int_equal(0, seize_limit_begin(&limit));
	assert_int_equal(-ETIMEDOUT, seize_limit_try(&limit, child.pid, 0, SHORT_NS));
	assert_int_equal(-ETIMEDOUT, seize_limit_try(&limit, child.pid, 0, 1));
	assert_int_equal(0, task_tracer(child.pid));
	let_it_execute(&child);
	assert_int_equal(0, seize_limit_try(&limit, child.pid, 0, LONG_NS));
	assert_int_equal(getpid(), task_tracer(child.pid));
	assert_int_equal(-EPERM, seize_limit_try(&limit, child.pid, 0, LONG_NS));
	seize_limit_end(&limit);
	end(&child);
}

/* The thread's mask and all actions are what they were. */
static void leaves_signals_alone(void **state)
{
	struct seize_limit limit, other;
	sigset_t before, now;
	struct child child;
	int sig;

	(void)state;
	begin(&child);
	assert_int_equal(0, pthread_sigmask(SIG_SETMASK, NULL, &before));
	assert_int_equal(0, seize_limit_begin(&limit));
	sig = limit.sig;
	assert_int_equal(SIGRTMAX, sig);
	assert_false(is_default(sig));
	/* Another session in the same program. */
	assert_int_equal(0, seize_limit_begin(&other));
	assert_int_equal(sig, other.sig);
	seize_limit_end(&other);
	assert_false(is_default(sig));
	assert_int_equal(-ETIMEDOUT, seize_limit_try(&limit, child.pid, 0, SHORT_NS));
	assert_int_equal(0, pthread_sigmask(SIG_SETMASK, NULL, &now));
	for (int i = 1; i <= SIGRTMAX; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&now, i));
	seize_limit_end(&limit);
	assert_true(is_default(sig));
	assert_int_equal(0, sigpending(&now));
	assert_int_equal(0, sigismember(&now, sig));
	end(&child);
}

static void handle(int sig)
{
	(void)sig;
}

/* A signal that has a handler is not taken; one that gets a handler meanwhile is left to that. */
static void leaves_handlers_alone(void **state)
{
	struct seize_limit limit;
	struct child child;
	int first;

	(void)state;
	begin(&child);
	assert_true(signal(SIGRTMAX, handle) == SIG_DFL);
	assert_int_equal(0, seize_limit_begin(&limit));
	first = limit.sig;
	assert_int_equal(SIGRTMAX - 1, first);
	assert_true(signal(first, handle) != SIG_ERR);
	assert_int_equal(-ETIMEDOUT, seize_limit_try(&limit, child.pid, 0, SHORT_NS));
	assert_int_equal(SIGRTMAX - 2, limit.sig);
	seize_limit_end(&limit);
	assert_true(signal(SIGRTMAX, SIG_DFL) == handle);
	assert_true(signal(first, SIG_DFL) == handle);
	end(&child);
}

/* Somebody takes it from a descriptor, or by sigwait(): nothing shows that beforehand. */
static void gives_back_what_others_wait_for(void **state)
{
	union sigval value = { .sival_int = 4711 };
	struct seize_limit limit;
	sigset_t set, before;
	struct child child;
	siginfo_t info;
	int sig;

	(void)state;
	begin(&child);
	assert_int_equal(0, seize_limit_begin(&limit));
	sig = limit.sig;
	sigemptyset(&set);
	sigaddset(&set, sig);
	assert_int_equal(0, pthread_sigmask(SIG_BLOCK, &set, &before));
	assert_int_equal(0, sigqueue(getpid(), sig, value));
	assert_int_equal(-ETIMEDOUT, seize_limit_try(&limit, child.pid, 0, SHORT_NS));
	assert_int_not_equal(sig, limit.sig);
	seize_limit_end(&limit);
	assert_int_equal(sig, sigwaitinfo(&set, &info));
	assert_int_equal(SI_QUEUE, info.si_code);
	assert_int_equal(getpid(), info.si_pid);
	assert_int_equal(4711, info.si_value.sival_int);
	assert_int_equal(0, sigpending(&set));
	assert_int_equal(0, sigismember(&set, sig));
	assert_int_equal(0, pthread_sigmask(SIG_SETMASK, &before, NULL));
	assert_true(is_default(sig));
	end(&child);
}

/* The first one costs most; any other one, and the same again, less. */
static void costs_less_each_time(void **state)
{
	static const char why[] = "does something";
	pid_t pid = getpid(), other = getppid();
	struct seize_late late = { 0 };
	uint64_t first, then, until;
	const char *told = NULL;

	(void)state;
	first = seize_late_limit(&late, pid);
	assert_int_equal(0, seize_late_until(&late, pid, &told));
	seize_late_note(&late, pid, why);
	until = seize_late_until(&late, pid, &told);
	assert_true(until > 0);
	assert_ptr_equal(why, told);
	assert_int_equal(0, seize_late_until(&late, other, NULL));
	then = seize_late_limit(&late, other);
	assert_true(then < first);
	assert_true(seize_late_limit(&late, pid) < first);
	seize_late_note(&late, pid, why);
	assert_true(seize_late_until(&late, pid, NULL) - until > 900000000ULL);
	/* The same process again does not make others cheaper. */
	assert_int_equal(then, seize_late_limit(&late, other));
	for (pid_t many = 0x10000000; many < 0x10000000 + 5000; many++)
		seize_late_note(&late, many, why);
	assert_true(seize_late_limit(&late, other) * 10 <= then);
	assert_true(late.known.n <= 4096);
	seize_late_free(&late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(leaves_signals_alone),
		cmocka_unit_test(leaves_handlers_alone),
		cmocka_unit_test(gives_back_what_others_wait_for),
		cmocka_unit_test(costs_less_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
