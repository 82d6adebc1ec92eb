/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes as events of the stream: each one begins before its first hit and ends behind its last one, whether it is born by
 * fork(), vfork(), posix_spawn() or is there before, and whether it is traced all the time or let go of.
 */

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/map.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"

#define FIXTURE "fork_exec"

/* What a process that begins, and has not ended, may do. */
enum { ENDED = 1, BEGUN };

struct seen {
	struct map processes; /* pid -> ENDED, BEGUN */
	bool asks;            /* for processes */
	unsigned n_begun, n_executed, n_ended, n_hits;
	unsigned n_named; /* of those that have executed, the fixture */
};

static uintptr_t state_of(const struct seen *seen, pid_t pid)
{
	return (uintptr_t)map_get(&seen->processes, (uint64_t)pid);
}

static void set_state(struct seen *seen, pid_t pid, uintptr_t state)
{
	assert_int_equal(map_put(&seen->processes, (uint64_t)pid, (void *)state), 0);
}

static void see_process(struct seen *seen, const struct ubp_event *event)
{
	pid_t pid = ubp_event_pid(event);
	size_t len;

	assert_null(ubp_event_name(event));
	assert_int_equal(ubp_event_n_args(event), 0);
	assert_string_equal(ubp_event_line(event, &len), "");
	switch (ubp_event_process(event)) {
	case UBP_PROCESS_BEGINS:
		assert_int_not_equal(state_of(seen, pid), BEGUN);
		set_state(seen, pid, BEGUN);
		seen->n_begun++;
		break;
	case UBP_PROCESS_EXECUTES:
		assert_int_equal(state_of(seen, pid), BEGUN);
		seen->n_executed++;
		seen->n_named += strcmp(ubp_event_comm(event), FIXTURE) == 0;
		break;
	case UBP_PROCESS_ENDS:
		assert_int_equal(state_of(seen, pid), BEGUN);
		set_state(seen, pid, ENDED);
		seen->n_ended++;
		break;
	case UBP_PROCESS_NONE:
		fail_msg("an event of a process that is none");
	}
}

static int see(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;

	if (ubp_event_probe(event) == UBP_EVENT_PROCESS) {
		assert_true(seen->asks);
		see_process(seen, event);
		return 0;
	}
	assert_int_equal(ubp_event_process(event), UBP_PROCESS_NONE);
	assert_int_equal(ubp_event_lost(event), 0);
	if (seen->asks)
		assert_int_equal(state_of(seen, ubp_event_pid(event)), BEGUN);
	seen->n_hits++;
	return 0;
}

static void end_ok(int rc, const struct ubp_err *err)
{
	if (rc < 0)
		fail_msg("%s", err->text);
}

/* The fixture in @mode, as the child of a shell. */
static void trace(const char *mode, bool stay, struct seen *seen)
{
	const char *fixtures = getenv("FIXTURES");
	struct ubp_options opt = UBP_OPTIONS_INIT;
	char command[4096], definition[4096];
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, command, NULL };
	struct ubp_session *s;
	struct ubp_err err;
	int n;

	assert_non_null(fixtures);
	snprintf(command, sizeof(command), "echo go | %s/" FIXTURE " %s > out.txt && exit 7",
		 fixtures, mode);
	snprintf(definition, sizeof(definition), "p:%s/" FIXTURE ":work", fixtures);
	opt.stay = stay;
	opt.lossless = true;
	end_ok(ubp_session_new(&opt, &s, &err), &err);
	if (seen->asks)
		ubp_tell_processes(s);
	end_ok(ubp_add(s, definition, NULL, &err), &err);
	end_ok(ubp_run_command(s, argv, &err), &err);
	end_ok(ubp_start(s, &err), &err);
	while (!ubp_is_done(s)) {
		struct pollfd fd = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&fd, 1, 1000);
		n = ubp_dispatch(s, see, seen, &err);
		end_ok(n, &err);
	}
	ubp_stop(s);
	while ((n = ubp_dispatch(s, see, seen, &err)) > 0)
		;
	end_ok(n, &err);
	assert_true(ubp_command_status(s, &n));
	assert_int_equal(n, 7 << 8);
	ubp_session_free(s);
}

static const struct {
	const char *mode;
	unsigned n_hits, n_children; /* that have hits */
} modes[] = { { "fork", 10, 5 }, { "vfork", 10, 5 }, { "spawn", 10, 5 }, { "exec", 5, 1 } };

static void check(bool stay)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct seen seen = { .asks = true };

		trace(modes[i].mode, stay, &seen);
		print_message("%s: %u begun, %u executed, %u ended, %u hits\n", modes[i].mode,
			      seen.n_begun, seen.n_executed, seen.n_ended, seen.n_hits);
		assert_int_equal(seen.n_hits, modes[i].n_hits);
		assert_true(seen.n_begun > modes[i].n_children);
		assert_true(seen.n_named > 0);
		assert_true(seen.n_ended >= modes[i].n_children);
		map_free(&seen.processes);
	}
}

static void test_alone(void **state)
{
	(void)state;
	check(false);
}

static void test_stay(void **state)
{
	(void)state;
	check(true);
}

static void test_not_asked(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	trace("system", true, &seen);
	assert_int_equal(seen.n_hits, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_stay),
		cmocka_unit_test(test_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
