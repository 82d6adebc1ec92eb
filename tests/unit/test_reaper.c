/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Ends of threads are reaped while their tracer does something else, of its processes alone, and are
 * told as they were. That this is what frees a tracer on an old kernel is seen in a machine that has
 * one (tests/integ/exec_thread.sh).
 */

#include "engine/trace/reaper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define LOOK (WEXITED | WNOWAIT | __WALL)

/* A process with a second thread, which ends with 3 when it is told to. */
struct child {
	pid_t pid, tid;
	int go;
};

static int told;

static void *second(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char c;

	(void)!write(*(int *)arg, &tid, sizeof(tid));
	(void)!read(told, &c, 1);
	syscall(SYS_exit, 3);
	return NULL;
}

static void end(struct child *child)
{
	kill(child->pid, SIGKILL);
	/* Reaped already, or the first thread's end waits for it. */
	(void)waitpid(child->tid, NULL, __WALL);
	while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	close(child->go);
}

static void begin(struct child *child)
{
	int go[2], tids[2];

	assert_int_equal(0, pipe(go));
	assert_int_equal(0, pipe(tids));
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		pthread_t thread;

		told = go[0];
		if (pthread_create(&thread, NULL, second, &tids[1]))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(sizeof(child->tid), read(tids[0], &child->tid, sizeof(child->tid)));
	close(tids[0]);
	close(tids[1]);
	close(go[0]);
	child->go = go[1];
	if (ptrace(PTRACE_SEIZE, child->pid, 0, PTRACE_O_EXITKILL) < 0) {
		end(child);
		skip(); /* as where nobody may be traced */
	}
	assert_int_equal(0, ptrace(PTRACE_SEIZE, child->tid, 0, PTRACE_O_EXITKILL));
}

static void reaps_for_one_at_work(void **state)
{
	struct tracer tracer = { 0 };
	struct child mine, other;
	struct reaper *reaper;
	struct stop stop;
	siginfo_t si;

	(void)state;
	begin(&mine);
	begin(&other);
	reaper = reaper_start(&tracer);
	assert_non_null(reaper);
	reaper_mind(reaper, other.pid);
	reaper_mind(reaper, mine.pid);
	reaper_forget(reaper, other.pid);
	assert_int_equal(1, write(other.go, "x", 1));
	assert_int_equal(0, waitid(P_PID, (id_t)other.tid, &si, LOOK));
	assert_int_equal(1, write(mine.go, "x", 1));
	reaper_working(reaper);
	while (!__atomic_load_n(&tracer.mailed, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_true(reaper_next(reaper, &stop));
	assert_int_equal(mine.tid, stop.tid);
	assert_true(stop.exited);
	assert_int_equal(3 << 8, stop.wait_status);
	assert_false(reaper_next(reaper, &stop));
	assert_int_equal(-ESRCH, wait_look(mine.tid, &stop));
	assert_int_equal(1, wait_look(other.tid, &stop));
	reaper_stop(reaper);
	end(&mine);
	end(&other);
}

/* To attach is work, too: it comes before the first wait. */
static void reaps_from_the_start(void **state)
{
	struct tracer tracer = { 0 };
	struct reaper *reaper;
	struct child mine;
	struct stop stop;

	(void)state;
	begin(&mine);
	reaper = reaper_start(&tracer);
	assert_non_null(reaper);
	reaper_mind(reaper, mine.pid);
	assert_int_equal(1, write(mine.go, "x", 1));
	while (!__atomic_load_n(&tracer.mailed, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_true(reaper_next(reaper, &stop));
	assert_int_equal(mine.tid, stop.tid);
	reaper_stop(reaper);
	end(&mine);
}

/* What is reaped and not asked for is lost to nobody but the reaper, which is at its end. */
static void ends_with_news(void **state)
{
	struct tracer tracer = { 0 };
	struct reaper *reaper;
	struct child mine;

	(void)state;
	begin(&mine);
	reaper = reaper_start(&tracer);
	assert_non_null(reaper);
	reaper_mind(reaper, mine.pid);
	reaper_working(reaper);
	assert_int_equal(1, write(mine.go, "x", 1));
	while (!__atomic_load_n(&tracer.mailed, __ATOMIC_ACQUIRE))
		sched_yield();
	reaper_stop(reaper);
	end(&mine);
	reaper_stop(NULL);
	assert_false(reaper_next(NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reaps_for_one_at_work),
		cmocka_unit_test(reaps_from_the_start),
		cmocka_unit_test(ends_with_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
