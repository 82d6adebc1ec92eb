/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ubp_probe_enable(): before the start, while the session runs, of a probe that has another filter since, and behind the end; and probes that
 * count, which go on so with another filter. The program calls the probed function when it is asked to, and answers: so what has to be told of each call is known.
 */

#include <errno.h>
#include <poll.h>
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
#include "engine/base/mailbox.h"
#include "engine/event/record.h"
#include "engine/session/event.h"
#include "engine/session/live.h"
#include "engine/ubp.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

#ifdef __aarch64__
#define ARG "%x0"
#else
#define ARG "%di"
#endif

#define NUMBERS 4
#define MOST    64

long switched(long n);
__attribute__((noinline)) long switched(long n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n;
}

/* --- the program --------------------------------------------------------------------- */

static pid_t pid;
static int asks, answers;

static _Noreturn void be_program(int from, int to)
{
	long n;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &n, sizeof(n)) == sizeof(n)) {
		n = switched(n);
		(void)!write(to, &n, sizeof(n));
	}
	_exit(0);
}

static void start_program(void)
{
	int from[2], to[2];

	assert_int_equal(pipe(from), 0);
	assert_int_equal(pipe(to), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(from[1]);
		be_program(from[0], to[1]);
	}
	close(from[0]);
	close(to[1]);
	asks = from[1];
	answers = to[0];
}

static void call(long n)
{
	long got;

	assert_int_equal(write(asks, &n, sizeof(n)), sizeof(n));
	assert_int_equal(read(answers, &got, sizeof(got)), sizeof(got));
	assert_int_equal(got, n);
}

static void end_program(void)
{
	int status;

	close(asks);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(answers);
}

/* --- the session ------------------------------------------------------------------------ */

struct told {
	long v[NUMBERS][MOST];
	size_t n[NUMBERS];
};

static int on_event(void *ctx, const struct ubp_event *event)
{
	const struct event_record *r = event->record;
	struct told *told = ctx;

	assert_int_equal(r->kind, EVENT_HIT);
	assert_true(r->probe < NUMBERS && told->n[r->probe] < MOST);
	memcpy(&told->v[r->probe][told->n[r->probe]++], r->data, sizeof(long));
	return 0;
}

static int dispatch(struct ubp_session *s, struct told *told)
{
	struct ubp_err err;
	int n = ubp_dispatch(s, on_event, told, &err);

	if (n < 0)
		fail_msg("%s", err.text);
	return n;
}

static void turn(struct ubp_session *s, size_t i, bool on)
{
	struct ubp_err err;

	if (ubp_probe_enable(s, i, on, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ubp_probe_is_enabled(s, i), on);
}

/* Its two probes are off. */
static struct ubp_session *new_session(enum ubp_mode mode)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	char exe[512], definition[600];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct ubp_session *s = NULL;
	struct ubp_err err;

	assert_true(n > 0);
	exe[n] = '\0';
	options.mode = mode;
	options.pids = &pid;
	options.n_pids = 1;
	ubp_err_reset(&err);
	if (ubp_session_new(&options, &s, &err) < 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(definition, sizeof(definition), "%s:%s:switched n=%s:s64",
			       i ? "r" : "p", exe, i ? "$retval" : ARG);
		assert_int_equal(ubp_probe_enable(s, (size_t)i, true, &err), -22);
		assert_false(ubp_probe_is_enabled(s, (size_t)i));
		if (ubp_add(s, definition, NULL, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(ubp_probe_is_enabled(s, (size_t)i));
		/* One that comes behind is numbered, too. */
		turn(s, (size_t)i, false);
	}
	return s;
}

static void start(struct ubp_session *s)
{
	struct ubp_err err;

	if (ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
}

/* The entry probe has another filter, and so another number. */
static void refilter(struct ubp_session *s, struct told *told)
{
	struct mailbox_answer answer;
	struct ubp_err err;
	unsigned number;
	uint64_t ticket;

	if (live_filter(s, 0, "n != 21", &number, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(number, 2);
	while (!live_look(s, ticket, &answer)) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 20);
		(void)dispatch(s, told);
	}
	assert_int_equal(answer.code, 0);
}

static void calls(long from)
{
	call(from);
	call(from + 1);
}

static void expect(const struct told *told, unsigned number, const long *want, size_t n)
{
	assert_int_equal(told->n[number], n);
	assert_memory_equal(told->v[number], want, n * sizeof(*want));
}

static void switches(enum ubp_mode mode)
{
	struct told told = { .n = { 0 } };
	struct ubp_session *s;
	struct ubp_err err;

	start_program();
	s = new_session(mode);
	start(s);
	calls(1);
	turn(s, 1, true);
	calls(3);
	turn(s, 0, true);
	calls(5);
	turn(s, 1, false);
	calls(7);
	/* Switched on twice is on; so it is with off. */
	turn(s, 0, true);
	turn(s, 1, false);
	calls(9);
	turn(s, 0, false);
	/* Whoever takes its place is off, too. */
	refilter(s, &told);
	calls(11);
	assert_int_equal(ubp_probe_enable(s, 2, true, &err), -22);
	assert_int_equal(live_switch(s, 2, true, &err), 0);
	calls(21);
	ubp_stop(s);
	turn(s, 1, true);
	calls(23);
	while (dispatch(s, &told) > 0)
		;
	ubp_session_free(s);
	end_program();
	expect(&told, 0, (const long[]){ 5, 6, 7, 8, 9, 10 }, 6);
	expect(&told, 1, (const long[]){ 3, 4, 5, 6 }, 4);
	expect(&told, 2, (const long[]){ 22 }, 1);
}

static void by_detours(void **state)
{
	(void)state;
	switches(UBP_MODE_JUMP);
}

static void at_breakpoints(void **state)
{
	(void)state;
	switches(UBP_MODE_TRAP);
}

/* --- probes that count ------------------------------------------------------------------- */

static void end_counting(struct ubp_session *s, struct told *told)
{
	ubp_stop(s);
	while (dispatch(s, told) > 0)
		;
	for (unsigned i = 0; i < NUMBERS; i++)
		assert_int_equal(told->n[i], 0);
}

/* Who takes its place counts on, hits that pass the histogram's filter as well. */
static void goes_on_with_a_histogram(enum ubp_mode mode)
{
	struct told told = { .n = { 0 } };
	struct ubp_session *s;
	const char *event, *hist;
	struct ubp_err err;

	start_program();
	s = new_session(mode);
	event = ubp_probe_event(s, 0);
	turn(s, 0, true);
	assert_int_equal(ubp_trigger_write(s, event, "hist:keys=n:sort=n if n < 30", &err), 0);
	assert_int_equal(ubp_trigger_record(s, event, false, &err), 0);
	assert_string_equal(ubp_trigger_explain(s, 0),
			    "histogram: made of records: nothing is settled");
	assert_int_equal(ubp_trigger_settle(s, &err), 0);
	assert_memory_equal(ubp_trigger_explain(s, 0), "histogram: counted ", 19);
	assert_null(ubp_trigger_explain(s, 1));
	assert_int_equal(ubp_trigger_write(s, event, "traceoff", &err), -EBUSY);
	assert_int_equal(ubp_trigger_record(s, event, true, &err), -EBUSY);
	start(s);
	calls(1);
	calls(30);
	refilter(s, &told);
	calls(20);
	calls(1);
	calls(30);
	/* While it goes on, too. */
	while (dispatch(s, &told) > 0)
		;
	hist = ubp_trigger_hist(s, event, NULL);
	assert_non_null(strstr(hist, "Hits: 5\n    Entries: 3\n"));
	end_counting(s, &told);
	hist = ubp_trigger_hist(s, event, NULL);
	assert_non_null(strstr(hist, "{ n:          1 } hitcount:          2\n"
				     "{ n:          2 } hitcount:          2\n"
				     "{ n:         20 } hitcount:          1\n"));
	assert_non_null(strstr(hist, "Hits: 5\n    Entries: 3\n    Dropped: 0\n"));
	ubp_session_free(s);
	end_program();
}

static void goes_on_with_a_tally(enum ubp_mode mode)
{
	struct told told = { .n = { 0 } };
	struct ubp_session *s;
	struct ubp_err err;

	start_program();
	s = new_session(mode);
	turn(s, 0, true);
	assert_int_equal(ubp_tally(s, "hist:keys=event", &err), 0);
	start(s);
	calls(1);
	refilter(s, &told);
	calls(20);
	end_counting(s, &told);
	assert_int_equal(ubp_tally_hits(ubp_tally_take(s)), 3);
	ubp_session_free(s);
	end_program();
}

static void count_on_by_detours(void **state)
{
	(void)state;
	goes_on_with_a_histogram(UBP_MODE_JUMP);
	goes_on_with_a_tally(UBP_MODE_JUMP);
}

static void count_on_at_breakpoints(void **state)
{
	(void)state;
	goes_on_with_a_histogram(UBP_MODE_TRAP);
	goes_on_with_a_tally(UBP_MODE_TRAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_detours),
		cmocka_unit_test(at_breakpoints),
		cmocka_unit_test(count_on_by_detours),
		cmocka_unit_test(count_on_at_breakpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
