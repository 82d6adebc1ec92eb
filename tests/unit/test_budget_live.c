/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A session with a limit, through the public interface: its hot probe is out, which the caller is told, and the cold one stays; the
 * one that is out has its number and counts, and changes of it are answered; others may come in its place.
 */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mailbox.h"
#include "engine/session/live.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_stats.h"
#include "tests/unit/live_one.h"

__attribute__((noinline)) uint64_t budget_hot(uint64_t n);
__attribute__((noinline)) uint64_t budget_cold(uint64_t n);

uint64_t budget_hot(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

uint64_t budget_cold(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n ^ 5;
}

/* A cold call for each byte that comes, which is answered; hot ones all the time. */
static _Noreturn void be_program(int in, int out)
{
	struct pollfd p = { .fd = in, .events = POLLIN };
	uint64_t n = 0;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (int i = 0; i < 1000; i++)
			n = budget_hot(n);
		if (poll(&p, 1, 0) <= 0)
			continue;
		if (read(in, &c, 1) != 1)
			_exit(0);
		n = budget_cold(n);
		if (write(out, &c, 1) != 1)
			_exit(1);
	}
}

struct run {
	struct ubp_session *session;
	pid_t pid;
	int to, from;
	unsigned n_warnings, n_cold;
	char text[256];
};

static void on_warn(void *ctx, const char *text)
{
	struct run *run = ctx;

	run->n_warnings++;
	(void)snprintf(run->text, sizeof(run->text), "%s", text);
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;

	run->n_cold += ubp_event_probe(event) == 1;
	return 0;
}

static void dispatch(struct run *run)
{
	struct pollfd p = { .fd = ubp_fd(run->session), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, 1000);
	assert_true(ubp_dispatch(run->session, on_event, run, &err) >= 0);
}

static void begin(struct run *run, uint64_t max_rate, unsigned max_overhead)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	char definition[64];
	struct ubp_err err;
	int in[2], out[2];

	*run = (struct run){ 0 };
	assert_int_equal(pipe(in) | pipe(out), 0);
	run->pid = fork();
	if (run->pid == 0) {
		close(in[1]);
		be_program(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	run->to = in[1];
	run->from = out[0];
	opt.pids = &run->pid;
	opt.n_pids = 1;
	opt.limits.max_rate = max_rate;
	opt.limits.max_overhead = max_overhead;
	opt.warn = on_warn;
	opt.warn_ctx = run;
	assert_int_equal(ubp_session_new(&opt, &run->session, &err), 0);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(definition, sizeof(definition), "p:/proc/self/exe:budget_%s",
			       i ? "cold" : "hot");
		if (ubp_add(run->session, definition, NULL, &err) < 0)
			fail_msg("%s: %s", definition, err.text);
	}
	if (ubp_start(run->session, &err) < 0)
		fail_msg("start: %s", err.text);
}

/* Returns the answer's code. */
static int await(struct run *run, uint64_t ticket)
{
	struct mailbox_answer answer;

	while (!live_look(run->session, ticket, &answer))
		dispatch(run);
	return answer.code;
}

static void call_cold(const struct run *run)
{
	char c = 'x';

	assert_int_equal(write(run->to, &c, 1), 1);
	assert_int_equal(read(run->from, &c, 1), 1);
}

static void end(struct run *run)
{
	int status;

	ubp_stop(run->session);
	close(run->to);
	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	assert_int_equal(status, 0);
	close(run->from);
	ubp_session_free(run->session);
}

static void check_out(const struct run *run, enum ubp_taken_out why, const char *text)
{
	struct ubp_probe_stats hot, cold;

	ubp_probe_stats(run->session, 0, &hot);
	ubp_probe_stats(run->session, 1, &cold);
	assert_int_equal(hot.taken_out, why);
	assert_true(hot.hits > 0);
	assert_int_equal(cold.taken_out, UBP_TAKEN_OUT_NOT);
	assert_non_null(strstr(run->text, "budget_hot was taken out: "));
	assert_non_null(strstr(run->text, text));
}

static void goes_for_its_rate(void **state)
{
	uint64_t ticket;
	unsigned number;
	struct ubp_err err;
	struct run run;

	(void)state;
	begin(&run, 1000, 0);
	while (!run.n_warnings)
		dispatch(&run);
	check_out(&run, UBP_TAKEN_OUT_RATE, "more than --max-rate 1000 (");
	/* It has its number, and is no more. */
	assert_int_equal(live_filter(run.session, 0, NULL, &number, &ticket, &err), 0);
	assert_int_equal(await(&run, ticket), -ENOENT);
	/* There is nothing to wait for. */
	assert_int_equal(live_remove_one(run.session, 0, &ticket, &err), 0);
	assert_int_equal(ticket, 0);
	assert_int_equal(live_remove_one(run.session, 0, &ticket, &err), -ENOENT);
	call_cold(&run);
	call_cold(&run);
	while (run.n_cold < 2)
		dispatch(&run);
	/* One that comes at the same place is judged from its own beginning. */
	assert_int_equal(live_add_one(run.session, "p:again /proc/self/exe:budget_hot", NULL,
				  &number, &ticket, &err),
			 0);
	assert_int_equal(await(&run, ticket), 0);
	while (run.n_warnings < 2)
		dispatch(&run);
	assert_non_null(strstr(run.text, "budget_hot was taken out: "));
	call_cold(&run);
	while (run.n_cold < 3)
		dispatch(&run);
	assert_int_equal(run.n_warnings, 2);
	end(&run);
	assert_int_equal(run.n_cold, 3);
}

static void goes_for_its_cost(void **state)
{
	struct run run;

	(void)state;
	begin(&run, 0, 1);
	while (!run.n_warnings)
		dispatch(&run);
	check_out(&run, UBP_TAKEN_OUT_OVERHEAD, "more than --max-overhead 1 (");
	call_cold(&run);
	while (run.n_cold < 1)
		dispatch(&run);
	end(&run);
}

static void bad_limits(void **state)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	struct ubp_err err;

	(void)state;
	opt.limits.max_overhead = 101;
	assert_int_equal(ubp_session_new(&opt, &session, &err), -EINVAL);
	assert_non_null(strstr(err.text, "101"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_for_its_rate),
		cmocka_unit_test(goes_for_its_cost),
		cmocka_unit_test(bad_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
