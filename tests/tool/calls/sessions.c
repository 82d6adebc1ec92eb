/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp.h and ubp_whom.h. */

#include <poll.h>
#include <unistd.h>

#include "engine/ubp_stats.h"
#include "engine/ubp_whom.h"
#include "tests/tool/calls/calls.h"

#define S target.session

CALL(ubp_add)
{
	(void)is_well(ubp_add(S, a_definition(), a_filter(), &here.err));
}

CALL(ubp_add_events)
{
	const char *text = a_definition();

	(void)is_well(
		ubp_add_events(S, text, text ? strlen(text) : any(2), a_filter(), &here.err));
}

CALL(ubp_add_usdt)
{
	static const char *const texts[] = { "libc:setjmp", "p:mine %s:a:b", "a:b",
					     "p:x:y:z arg1" };

	(void)is_well(ubp_add_usdt(S, any(2) ? A_TEXT(texts) : a_definition(), a_filter(),
				   &here.err));
}

CALL(ubp_command_pid)
{
	if (ubp_command_pid(S) < 0)
		fail("no process", 0);
}

CALL(ubp_command_status)
{
	int status;

	(void)ubp_command_status(S, &status);
}

/* Refused where it would be called by itself. */
static void is_taken(int64_t rc)
{
	if (here.hit || target.is_callback)
		is_refused(rc);
	else
		(void)is_well(rc);
}

CALL(ubp_dispatch)
{
	struct pollfd p = { .fd = ubp_fd(S), .events = POLLIN };

	if (!here.hit && !target.is_callback)
		(void)poll(&p, 1, (int)any(20));
	is_taken(ubp_dispatch(S, on_event, NULL, &here.err));
}

CALL(ubp_drain)
{
	if (here.hit || target.is_callback || seldom(4))
		is_taken(ubp_drain(S, on_event, NULL, &here.err));
}

CALL(ubp_err_reset)
{
	ubp_err_reset(&here.err);
	if (here.err.code || here.err.text[0] || here.err.has_caret)
		fail("something is left", here.err.code);
}

CALL(ubp_explain_tracing)
{
	const char *perhaps;

	look_at_text(ubp_explain_tracing(S, &perhaps));
	look_at_text(perhaps);
}

CALL(ubp_fd)
{
	(void)ubp_fd(S);
}

CALL(ubp_files_as)
{
	(void)is_well(ubp_files_as(S, a_pid(), &here.err));
}

CALL(ubp_has_failed)
{
	(void)ubp_has_failed(S);
}

CALL(ubp_is_done)
{
	(void)ubp_is_done(S);
}

CALL(ubp_n_probes)
{
	(void)ubp_n_probes(S);
}

CALL(ubp_only_cgroup)
{
	static const char *const groups[] = { "/", "/no/such", ":/", "memory:/", "no/slash" };

	(void)is_well(ubp_only_cgroup(S, A_TEXT(groups), &here.err));
}

CALL(ubp_only_user)
{
	(void)is_well(ubp_only_user(S, any(2) ? getuid() : (uid_t)a_word(), &here.err));
}

CALL(ubp_run_command)
{
	static const char *const commands[][3] = {
		{ "/bin/true" }, { "true", "x" }, { "no/such" }, { NULL }, { "" }
	};

	(void)is_well(ubp_run_command(
		S, seldom(8) ? NULL : (char *const *)(uintptr_t)ONE_OF(commands), &here.err));
}

CALL(ubp_sample_check)
{
	static const char *const samples[] = { "1", "7",  "n:50", "n:4k",
					       "0", "n:", ":5",   "2147483648" };

	(void)is_well(ubp_sample_check(A_TEXT(samples), &here.err));
}

CALL(ubp_sample_next)
{
	ubp_sample_next(S, any(2));
}

CALL(ubp_set_latency)
{
	ubp_set_latency(S, a_word());
}

CALL(ubp_start)
{
	(void)is_well(ubp_start(S, &here.err));
}

static bool is_over(void *ctx)
{
	return ctx != NULL;
}

CALL(ubp_start_until)
{
	/* It must last as long as the session. */
	static struct ubp_until never = { .fd = -1, .is_over = is_over },
				at_once = { .is_over = is_over, .ctx = &never };
	static int pipes[2] = { -1, -1 };

	if (pipes[0] < 0 && (pipe(pipes) < 0 || write(pipes[1], "x", 1) != 1))
		fail("no pipe", -errno);
	at_once.fd = pipes[0];
	(void)is_well(ubp_start_until(S,
				      any(3)      ? &never
				      : seldom(2) ? &at_once
						  : NULL,
				      &here.err));
}

CALL(ubp_stats)
{
	struct ubp_stats stats;

	ubp_stats(S, &stats);
	look_at_text(stats.why_traced);
	look_at_text(stats.finder);
}

CALL(ubp_stop)
{
	if (seldom(8))
		ubp_stop(S);
	else if (here.hit && seldom(8))
		ubp_session_free(S);
}

CALL(ubp_stop_name)
{
	look_at_text(ubp_stop_name((unsigned)a_word()));
	look_at_text(ubp_stop_name(any(UBP_STOPS)));
}

CALL(ubp_tell_faults)
{
	ubp_tell_faults(S);
}

CALL(ubp_tell_processes)
{
	ubp_tell_processes(S);
}

CALL(ubp_version)
{
	if (ubp_version() != UBP_API_VERSION)
		fail("another version", ubp_version());
}
