/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Births without memory: nothing a child stops for is lost, and none waits for ever. */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/hold.h"
#include "engine/trace/wait_loop.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"
#include "tests/unit/quiet_tracer.h"
#include "tests/unit/short_memory.h"

#define LIMIT_S 20
#define MANY    300

static volatile sig_atomic_t trapped;

/* There is no memory for a thread. */
static bool is_short;

static bool allocation_fails(const void *caller, size_t len)
{
	(void)caller;
	return is_short && len == sizeof(struct tracee) + quiet_tracer_ops.thread_len;
}

static void on_trap(int sig)
{
	trapped = sig;
}

/* Its child gets a SIGTRAP, and both end with 0 if that arrived. */
static void be_mother(int go)
{
	int status = -1;
	char c;
	pid_t pid;

	alarm(LIMIT_S);
	signal(SIGTRAP, on_trap);
	if (read(go, &c, 1) != 1)
		_exit(2);
	pid = fork();
	if (pid == 0) {
		alarm(LIMIT_S);
		raise(SIGTRAP);
		_exit(!trapped);
	}
	while (waitpid(pid, &status, 0) < 0)
		;
	_exit(status != 0);
}

/* A mother that is traced, and stands in its report of a birth. */
static pid_t begin_birth(pid_t *ret_child)
{
	unsigned long message = 0;
	siginfo_t si;
	int go[2];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0)
		be_mother(go[0]);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEFORK), 0);
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WSTOPPED | WEXITED | WNOWAIT), 0);
	assert_int_equal(si.si_status >> 8, PTRACE_EVENT_FORK);
	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, pid, 0, &message), 0);
	*ret_child = (pid_t)message;
	assert_int_equal(waitid(P_PID, (id_t)*ret_child, &si, WSTOPPED | WEXITED | WNOWAIT), 0);
	assert_int_equal(si.si_status >> 8, PTRACE_EVENT_STOP);
	close(go[0]);
	close(go[1]);
	return pid;
}

static void take_mother(struct tracer *tracer, pid_t pid)
{
	assert_non_null(tracer_add_tracee(tracer, quiet_tracer_add(tracer, pid), pid));
}

static const struct stop *report(pid_t tid, int event)
{
	static struct stop stop;

	stop = (struct stop){ .tid = tid, .sig = SIGTRAP, .event = event };
	return &stop;
}

static void expect_end(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status)) { /* of its child's end it is told by a signal */
		assert_int_equal(ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status)), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_int_equal(status, 0);
}

/* There was no memory to note the child, which runs already, and has stopped for its trap. */
static void a_trap_is_no_birth(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	pid_t child, mother = begin_birth(&child);
	siginfo_t si = { .si_pid = 0 };

	(void)state;
	take_mother(&tracer, mother);
	tracer_consume_stop(child);
	assert_int_equal(ptrace(PTRACE_CONT, child, 0, 0), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &si, WSTOPPED | WEXITED | WNOWAIT), 0);
	assert_int_equal(si.si_status, SIGTRAP);

	tracer_dispatch(&tracer, report(mother, PTRACE_EVENT_FORK));
	si.si_pid = 0;
	assert_int_equal(
		waitid(P_PID, (id_t)child, &si, WSTOPPED | WEXITED | WNOWAIT | WNOHANG), 0);
	assert_int_equal(si.si_pid, child);
	assert_int_equal(si.si_status, SIGTRAP);

	/* As nobody's, it gets its signal. */
	tracer_dispatch(&tracer, report(child, 0));
	assert_int_equal(waitid(P_PID, (id_t)child, &si, WEXITED), 0);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, 0);
	expect_end(mother);
	tracer_dispatch(&tracer, &(struct stop){ .tid = mother, .exited = true });
	tracer_fini(&tracer);
}

/* There was none for the mother: her child is not kept for her sake. */
static void a_strangers_child_is_let_go(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	pid_t child, mother = begin_birth(&child);

	(void)state;
	tracer_dispatch(&tracer, report(child, PTRACE_EVENT_STOP));
	assert_int_equal(tracer.limbo.n, 1);
	tracer_dispatch(&tracer, report(mother, PTRACE_EVENT_FORK));
	assert_int_equal(tracer.limbo.n, 0);
	expect_end(mother);
	tracer_fini(&tracer);
}

/* As many children as there are threads stop before their mothers do: that needs no memory any more. */
static void all_find_room(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	const pid_t first = 1 << 22; /* numbers that no thread has */
	const struct map_entry *entries;
	struct process *p = quiet_tracer_add(&tracer, first);

	(void)state;
	for (pid_t i = 0; i < MANY; i++)
		assert_non_null(tracer_add_tracee(&tracer, p, first + i));
	entries = tracer.limbo.entries;
	assert_non_null(entries);
	for (pid_t i = 0; i < MANY; i++)
		tracer_dispatch(&tracer, report(first + MANY + i, PTRACE_EVENT_STOP));
	assert_int_equal(tracer.limbo.n, MANY);
	assert_ptr_equal(tracer.limbo.entries, entries);
	while (tracer.tracees.n)
		tracer_drop_tracee(&tracer,
				   map_get(&tracer.tracees,
					   (uint64_t)(first + (pid_t)tracer.tracees.n - 1)));
	tracer_fini(&tracer);
}

/* --- threads ------------------------------------------------------------------------------ */

/* What the test and the program that it traces have in common. */
struct turns {
	atomic_uint of[2]; /* counted by each of its two threads, as long as it runs */
	atomic_int tid;    /* of the second */
	atomic_bool is_over;
};

static struct turns *turns;

static void *turn(void *arg)
{
	atomic_uint *of = arg;

	if (of == &turns->of[1])
		turns->tid = (int)gettid();
	while (!turns->is_over) {
		++*of;
		usleep(100);
	}
	return NULL;
}

static void be_threads(int go)
{
	pthread_t thread;
	char c;

	alarm(LIMIT_S);
	if (read(go, &c, 1) != 1 || pthread_create(&thread, NULL, turn, &turns->of[1]) != 0)
		_exit(2);
	(void)turn(&turns->of[0]);
	_exit(pthread_join(thread, NULL) != 0);
}

/* Handles what there is until @what is so. */
static void run_until(struct tracer *tracer, bool (*what)(const struct tracer *tracer))
{
	while (!what(tracer)) { /* alarm() ends it */
		tracer_poll(tracer, 1);
		usleep(100);
	}
}

static bool is_born(const struct tracer *tracer)
{
	(void)tracer;
	return turns->tid != 0;
}

static bool is_seen(const struct tracer *tracer)
{
	return tracer->tracees.n == 2;
}

static bool is_stopped(const struct tracer *tracer)
{
	const pid_t tid = turns->tid;

	(void)tracer;
	return strchr("tT", task_state(tid)) && strchr("tT", task_state(task_tgid(tid)));
}

static unsigned turned[2];

static bool goes_on(const struct tracer *tracer)
{
	(void)tracer;
	return turns->of[0] != turned[0] && turns->of[1] != turned[1];
}

static bool has_ended(const struct tracer *tracer)
{
	return !tracer->tracees.n;
}

static void note_turns(void)
{
	turned[0] = turns->of[0];
	turned[1] = turns->of[1];
}

/* A traced program, whose second thread found no memory. */
static struct space *begin_threads(struct tracer *tracer, pid_t *ret_pid)
{
	struct space *space;
	struct process *p;
	struct ubp_err err;
	int go[2];
	pid_t pid;

	is_short = false;
	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	assert_true(turns != MAP_FAILED);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0)
		be_threads(go[0]);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, TRACER_OPTIONS), 0);
	space = space_new(tracer, NULL, pid, &err);
	assert_non_null(space);
	p = tracer_add_process(tracer, pid, space);
	assert_non_null(p);
	assert_non_null(tracer_add_tracee(tracer, p, pid));
	is_short = true;
	assert_int_equal(write(go[1], "x", 1), 1);
	run_until(tracer, is_born);
	assert_int_equal(tracer->tracees.n, 1);
	close(go[0]);
	close(go[1]);
	*ret_pid = pid;
	return space;
}

static void end_threads(struct tracer *tracer)
{
	turns->is_over = true;
	run_until(tracer, has_ended);
	tracer_fini(tracer);
	munmap(turns, sizeof(*turns));
}

/* Nobody may write a jump while a thread runs that is not looked at. */
static void who_is_not_seen_is_not_held(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	pid_t pid;
	struct space *space = begin_threads(&tracer, &pid);

	(void)state;
	assert_false(hold_all(&tracer, space, 100));
	note_turns();
	while (turns->of[1] == turned[1])
		usleep(100); /* it runs */
	hold_end(&tracer, space, NULL);
	assert_false(hold_running(&tracer, space, 100));
	hold_end(&tracer, space, NULL);
	is_short = false;
	/* Its next stop, for a signal that does nothing. */
	assert_int_equal(tgkill(pid, turns->tid, SIGWINCH), 0);
	run_until(&tracer, is_seen);
	assert_true(hold_all(&tracer, space, 5000));
	hold_end(&tracer, space, NULL);
	end_threads(&tracer);
}

/* A group stop ends for it, too. */
static void who_is_not_seen_goes_on(void **state)
{
	struct tracer tracer = { .ops = &quiet_tracer_ops };
	pid_t pid;

	(void)state;
	(void)begin_threads(&tracer, &pid);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		run_until(&tracer, is_stopped);
		assert_int_equal(kill(pid, SIGCONT), 0);
		note_turns();
		run_until(&tracer, goes_on);
		assert_int_equal(tracer.tracees.n, 1 + i);
		is_short = false; /* the second time it is taken up */
	}
	end_threads(&tracer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trap_is_no_birth),
		cmocka_unit_test(a_strangers_child_is_let_go),
		cmocka_unit_test(all_find_room),
		cmocka_unit_test(who_is_not_seen_is_not_held),
		cmocka_unit_test(who_is_not_seen_goes_on),
	};

	alarm(LIMIT_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
