/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * api_calls PID PROGRAM SECONDS SEED: calls the library's functions in random order with random arguments, many of them wrong, on process PID,
 * whose program is PROGRAM, the fixture busy. A call may fail, with a code and a text; whatever else happens is told, and the exit status is 1. For tests.
 */

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

#define ARRAY_N(v) (sizeof(v) / sizeof((v)[0]))

static uint64_t seed;
static pid_t target;
static struct ubp_session *session;
static struct ubp_err err;
static const char *now; /* the call that is being made */
static unsigned long n_calls, n_failed, n_events;
static char definitions[12][1024];

static unsigned any(unsigned n)
{
	/* xorshift64 */
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 32) % n);
}

static void fail(const char *what, int64_t rc)
{
	printf("%s: %s (%lld, \"%s\")\n", now, what, (long long)rc, err.text);
	fflush(stdout);
	_exit(1);
}

/* What a call returned that can fail. True: it has not. */
static bool is_well(const char *name, int64_t rc)
{
	now = name;
	n_calls++;
	if (rc >= 0)
		return true;
	n_failed++;
	if (rc < -4095)
		fail("no errno", rc);
	if (!err.text[0] || strchr(err.text, '\n'))
		fail("no line of text", rc);
	if (err.code != -rc)
		fail("another code in the text", rc);
	err.text[0] = '\0';
	err.code = 0;
	return false;
}

static void make_definitions(const char *program)
{
	static const char *const forms[] = {
		"p:%s:step",
		"p:%s:step n=$arg1:u64 name=+0($arg2):string",
		"r:%s:step $retval",
		"p:mine/other %s:step",
		"r:back %s:step n=$retval:u64",
		"p:%s:main",
		"p:%s:no_such_function",
		"p:%s:step a=+0(",
		"%s",
		"",
		"p:%s:step n=$arg1 n=$arg2",
		"x:%s:step",
	};

	for (size_t i = 0; i < ARRAY_N(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(definitions[i], sizeof(definitions[i]), forms[i], program);
#pragma GCC diagnostic pop
	}
}

static const char *a_definition(void)
{
	/* Those that are right come first. */
	return definitions[any(2) ? any(6) : any(ARRAY_N(definitions))];
}

static const char *a_filter(void)
{
	static const char *const filters[] = { NULL,           NULL, "n > 0", "common_pid > 0",
					       "nothing == 1", "(",  "" };

	return filters[any(ARRAY_N(filters))];
}

static size_t a_number(void)
{
	static const size_t odd[] = { SIZE_MAX, (size_t)1 << 32, 1000000, INT32_MAX,
				      UINT32_MAX };
	size_t n = ubp_n_probes(session);

	if (any(8) == 0)
		return odd[any(ARRAY_N(odd))];
	return n ? any((unsigned)n + 1) : any(3);
}

static void look_at(const struct ubp_event *event)
{
	uint64_t addresses[4];
	struct ubp_value v;
	size_t len;

	for (size_t i = 0; i <= ubp_event_n_args(event); i++) {
		(void)ubp_event_arg(event, i, any(3), &v);
		(void)ubp_event_arg_name(event, i);
		(void)ubp_event_arg_text(event, i);
	}
	(void)ubp_event_stack(event, addresses, any(5));
	(void)ubp_event_name(event);
	(void)ubp_event_cookie(event);
	(void)ubp_event_line(event, &len);
}

static void change(void);

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct ubp_event *copy = any(16) ? NULL : ubp_event_copy(event);

	n_events++;
	look_at(event);
	if (copy)
		look_at(copy);
	ubp_event_free(copy);
	if (any(64) == 0)
		change();
	if (any(64) == 0 && ubp_dispatch(session, on_event, ctx, &err) >= 0)
		fail("a dispatch in a callback is well", 0);
	return any(50) == 0;
}

/* On the tracing thread. What it may not change stays, so the program still computes the same. */
static enum ubp_verdict on_hit(void *cookie, struct ubp_hit *hit)
{
	unsigned how = (unsigned)ubp_hit_time_ns(hit);
	uint64_t value = how, addresses[8];
	struct ubp_err why;
	char text[16];

	(void)ubp_hit_reg(hit, how & 1 ? "sp" : "no_such", &value);
	(void)ubp_hit_arg(hit, how % 9, &value);
	(void)ubp_hit_result(hit, &value);
	(void)ubp_hit_read(hit, value, text, how % sizeof(text));
	(void)ubp_hit_read_string(hit, value, text, how % sizeof(text));
	(void)ubp_hit_stack(hit, addresses, how % ARRAY_N(addresses));
	(void)ubp_probe_cookie(session, ubp_hit_probe(hit));
	if (ubp_hit_set_reg(hit, how & 2 ? "no_such" : "ip", value, &why) >= 0 ||
	    ubp_hit_write(hit, 16, text, 1, &why) >= 0)
		fail("what no handler may is done", 0);
	if (how % 16 == 0 && ubp_dispatch(session, on_event, NULL, &why) != -EDEADLK)
		fail("a dispatch in a handler is well", 0);
	(void)cookie;
	return (enum ubp_verdict)(how % 3);
}

/* --- calls --------------------------------------------------------------------------------------- */

static void add(void)
{
	const char *texts[3];
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	size_t first, n, n_texts = any(4);

	for (size_t i = 0; i < ARRAY_N(texts); i++)
		texts[i] = any(20) ? a_definition() : NULL;
	if (any(3) == 0) {
		const char *text = a_definition();

		(void)is_well("ubp_add", ubp_add(session, text, a_filter(), &err));
		(void)is_well("ubp_add_events",
			      ubp_add_events(session, text, strlen(text), a_filter(), &err));
		(void)is_well("ubp_add_usdt", ubp_add_usdt(session, text, a_filter(), &err));
	}
	if (any(20) == 0)
		opt.size = any(sizeof(opt)); /* more would be read behind it */
	opt.form = (enum ubp_form)any(any(8) ? 1 : 5);
	opt.filter = a_filter();
	opt.disabled = any(4) == 0;
	opt.cookie = &n;
	opt.handler = any(4) ? NULL : on_hit;
	opt.may_change = any(8) == 0;
	(void)is_well("ubp_probes_add",
		      ubp_probes_add(session, any(20) ? texts : NULL, n_texts,
				     any(4) ? &opt : NULL, any(2) ? &first : NULL,
				     any(2) ? &n : NULL, &err));
}

static void remove_some(void)
{
	size_t numbers[4];

	for (size_t i = 0; i < ARRAY_N(numbers); i++)
		numbers[i] = a_number();
	(void)is_well("ubp_probes_remove",
		      ubp_probes_remove(session, any(20) ? numbers : NULL, any(5), &err));
}

static void change(void)
{
	pid_t pids[] = { target, target, 0, -1, getpid(), 1 << 30 };

	switch (any(6)) {
	case 0:
	case 1:
		add();
		break;
	case 2:
	case 3:
		remove_some();
		break;
	case 4:
		(void)is_well("ubp_probe_set_filter",
			      ubp_probe_set_filter(session, a_number(), a_filter(), &err));
		break;
	default:
		if (any(2))
			(void)is_well("ubp_add_pid",
				      ubp_add_pid(session, pids[any(ARRAY_N(pids))], &err));
		else
			(void)is_well("ubp_remove_pid",
				      ubp_remove_pid(session, pids[any(ARRAY_N(pids))], &err));
	}
}

static void ask(void)
{
	struct ubp_probe_stats probe_stats;
	struct ubp_stats stats;
	size_t i = a_number();
	const char *why;

	(void)ubp_probe_listing(session, i);
	(void)ubp_probe_format(session, i);
	(void)ubp_probe_group(session, i);
	(void)ubp_probe_event(session, i);
	(void)ubp_probe_path(session, i);
	(void)ubp_probe_is_return(session, i);
	(void)ubp_probe_definition(session, i, &why);
	(void)ubp_probe_explain(session, i);
	(void)ubp_probe_sample(session, i);
	(void)ubp_probe_filter(session, i);
	(void)ubp_probe_state(session, i);
	(void)ubp_probe_cookie(session, i);
	(void)ubp_probe_is_enabled(session, i);
	(void)ubp_probe_left_out(session, i);
	(void)ubp_probe_arg_index(session, i, any(4) ? "name" : NULL);
	(void)ubp_probe_next(session, i);
	ubp_probe_stats(session, i, &probe_stats);
	ubp_stats(session, &stats);
	(void)ubp_stop_name(any(100));
	(void)ubp_untold(session);
	(void)ubp_is_done(session);
	(void)ubp_has_failed(session);
}

static void set(void)
{
	static const uint64_t latencies[] = { 0, 1, 1000000, 5000000, UINT64_MAX };

	(void)is_well("ubp_probe_enable", ubp_probe_enable(session, a_number(), any(2), &err));
	(void)is_well("ubp_probe_set_cookie",
		      ubp_probe_set_cookie(session, a_number(), &seed, &err));
	ubp_set_latency(session, latencies[any(ARRAY_N(latencies))]);
}

static void take(void)
{
	struct pollfd p = { .fd = ubp_fd(session), .events = POLLIN };

	(void)poll(&p, 1, (int)any(20));
	(void)is_well("ubp_dispatch", ubp_dispatch(session, on_event, NULL, &err));
	if (any(8) == 0)
		(void)is_well("ubp_drain", ubp_drain(session, on_event, NULL, &err));
}

static void begin(void)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	pid_t pids[2] = { target, any(10) ? target : -5 };

	opt.pids = pids;
	opt.n_pids = 1 + (any(4) == 0);
	opt.mode = (enum ubp_mode)any(4);
	opt.stay = any(2);
	opt.lossless = any(4) == 0;
	opt.strict = any(8) == 0;
	opt.files_only = any(16) == 0;
	opt.stack = any(4) ? UBP_STACK_NONE : UBP_STACK_FP;
	opt.limits.max_overhead = any(20) ? 0 : any(200);
	opt.room.queue_bytes = any(20) ? 0 : any(100000);
	opt.room.ring_bytes = any(20) ? 0 : any(100000);
	opt.clock = any(20) ? NULL : "sundial";
	opt.sample = any(20) ? NULL : "0";
	if (any(30) == 0)
		opt.size = any(64);
	session = NULL;
	if (!is_well("ubp_session_new", ubp_session_new(&opt, &session, &err)) && session)
		fail("a session for an error", 0);
}

static void one_session(void)
{
	unsigned n = any(60);

	begin();
	if (!session)
		return;
	for (unsigned i = 0; i < n; i++) {
		switch (any(10)) {
		case 0:
			(void)is_well("ubp_start", ubp_start(session, &err));
			break;
		case 1:
			if (any(8) == 0)
				ubp_stop(session);
			break;
		case 2:
		case 3:
			change();
			break;
		case 4:
			add();
			break;
		case 5:
			ask();
			break;
		case 6:
			set();
			break;
		default:
			take();
		}
	}
	if (any(2))
		ubp_session_free(session);
	else
		ubp_session_forget(session);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double until;
	unsigned n = 0;

	if (argc != 5)
		return 2;
	target = atoi(argv[1]);
	make_definitions(argv[2]);
	until = seconds() + atof(argv[3]);
	seed = strtoull(argv[4], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	ubp_err_reset(&err);
	for (; seconds() < until; n++)
		one_session();
	printf("%u sessions, %lu calls, %lu failed, %lu events\n", n, n_calls, n_failed,
	       n_events);
	return 0;
}
