/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * api_calls PID PROGRAM SECONDS SEED: calls the library's functions in random order with random arguments, many of them wrong, on process PID,
 * whose program is PROGRAM, the fixture busy: between dispatches, in callbacks and in handlers. A call may fail, with a code and a text; whatever else
 * happens is told, and the exit status is 1. For tests. The calls are in tests/tool/calls. It writes recordings to its folder.
 *
 * api_calls --list: the functions that are called, and those that are not, with the reason.
 */

#include <stdio.h>
#include <unistd.h>

#include "tests/tool/calls/calls.h"

/* Mostly these are called, by bits. */
static unsigned subjects;

static void make_definitions(const char *program)
{
	static const char *const forms[] = {
		"p:%s:step",
		"p:%s:step n=$arg1:u64 name=+0($arg2):string",
		"r:%s:step $retval",
		"p:mine/other %s:step",
		"r:back %s:step n=$retval:u64",
		"p:%s:main",
		"p:%s:step n=$arg1:u64 u=+0($arg2):u8[5]",
		"p:%s:no_such_function",
		"p:%s:step a=+0(",
		"%s",
		"",
		"p:%s:step n=$arg1 n=$arg2",
		"x:%s:step",
	};

	_Static_assert(ARRAY_N(forms) == ARRAY_N(target.definitions), "one for each");
	for (size_t i = 0; i < ARRAY_N(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(target.definitions[i], sizeof(target.definitions[i]), forms[i],
			 program);
#pragma GCC diagnostic pop
	}
}

/* --- while a session runs ---------------------------------------------------------------------------- */

int on_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	here.event = event;
	target.is_callback = true;
	target.n_events++;
	for (unsigned i = any(4); i > 0; i--)
		call_one(AT_EVENT, 1U << EVENT | 1U << SINK);
	if (seldom(16))
		call_one(AT_EVENT, any(4) ? subjects : 0);
	here.event = NULL;
	target.is_callback = false;
	return seldom(50);
}

static enum ubp_verdict handle(struct ubp_hit *hit, bool may_change)
{
	__atomic_add_fetch(&target.n_hits, 1, __ATOMIC_RELAXED);
	here.hit = hit;
	here.may_change = may_change;
	here.seed = ubp_hit_time_ns(hit) | 1;
	for (unsigned i = any(6); i > 0; i--)
		call_one(AT_HIT, 1U << HIT);
	if (seldom(16))
		call_one(AT_HIT, 0);
	here.hit = NULL;
	return (enum ubp_verdict)any(3);
}

enum ubp_verdict on_hit(void *cookie, struct ubp_hit *hit)
{
	(void)cookie;
	return handle(hit, false);
}

enum ubp_verdict on_hit_that_may_change(void *cookie, struct ubp_hit *hit)
{
	(void)cookie;
	return handle(hit, true);
}

static void on_warning(void *ctx, const char *text)
{
	if (ctx != &target || !text[0] || strchr(text, '\n'))
		fail("a warning that is no line", 0);
}

/* --- sessions ------------------------------------------------------------------------------------------- */

/* Whom it traces: the process that was named; or nobody, to be asked about files alone. */
static void choose_whom(struct ubp_options *opt, pid_t pids[2])
{
	pids[0] = target.pid;
	pids[1] = any(10) ? target.pid : -5;
	opt->pids = pids;
	opt->n_pids = 1 + seldom(4);
	opt->files_only = seldom(16);
	if (opt->files_only && any(2)) {
		opt->pids = NULL;
		opt->n_pids = 0;
	}
	opt->follow = (enum ubp_follow)any(3);
	opt->stay = any(2);
}

static void choose_sizes(struct ubp_options *opt)
{
	opt->limits.max_overhead = any(20) ? 0 : any(200);
	opt->limits.max_rate = any(20) ? 0 : a_word();
	opt->room.queue_bytes = any(20) ? 0 : any(100000);
	opt->room.ring_bytes = any(20) ? 0 : any(100000);
	opt->frames = seldom(8) ? (unsigned)a_word() : 0;
	if (seldom(30))
		opt->size = any(64);
}

static void begin(void)
{
	struct {
		struct ubp_options opt;
		uint64_t behind;
	} more = { .opt = UBP_OPTIONS_INIT, .behind = 0 };
	struct ubp_options *opt = &more.opt;
	pid_t pids[2];

	choose_whom(opt, pids);
	opt->mode = (enum ubp_mode)any(4);
	opt->lossless = seldom(4);
	opt->strict = seldom(8);
	opt->once = seldom(16);
	opt->stack = any(2) ? UBP_STACK_NONE : seldom(3) ? UBP_STACK_CFI : UBP_STACK_FP;
	opt->stack_raw = seldom(4);
	opt->clock = any(20) ? NULL : "sundial";
	opt->sample = any(20) ? NULL : any(2) ? "3" : "0";
	opt->warn = on_warning;
	opt->warn_ctx = &target;
	choose_sizes(opt);
	if (seldom(40)) {
		opt->size = sizeof(more);
		more.behind = any(2);
	}
	here.now = "ubp_session_new";
	target.session = NULL;
	if (!is_well(ubp_session_new(seldom(40) ? NULL : opt, &target.session, &here.err)) &&
	    target.session)
		fail("a session for an error", 0);
}

static void one_session(void)
{
	unsigned n = any(80), start_at = any(30);
	bool handlers = seldom(3);

	subjects = 1U << any(SUBJECTS) | 1U << any(SUBJECTS) | 1U << LIVE;
	begin();
	if (!target.session)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (i == start_at)
			call_ubp_start();
		else if (i > start_at && seldom(3))
			call_ubp_dispatch();
		else
			call_one(AT_HOME, any(4) ? subjects : 0);
		if (i < start_at && seldom(6))
			call_ubp_add();
		if (i < start_at && handlers && seldom(6))
			call_ubp_probe_set_handler();
	}
	counts_forget();
	sinks_forget();
	events_forget();
	if (any(2))
		ubp_session_free(target.session);
	else
		ubp_session_forget(target.session);
}

static int list(void)
{
	for (size_t i = 0; i < calls_n; i++)
		printf("%s\n", calls_table[i].name);
#define ROW(name, subject, places)
#define LEFT_OUT(name, why) printf("%s: %s\n", #name, why);
#include "tests/tool/calls/table.def"
	return 0;
}

int main(int argc, char **argv)
{
	double until;
	unsigned n = 0;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (argc != 5)
		return 2;
	target.pid = atoi(argv[1]);
	target.program = argv[2];
	make_definitions(argv[2]);
	until = seconds() + atof(argv[3]);
	here.seed = strtoull(argv[4], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	ubp_err_reset(&here.err);
	for (; seconds() < until; n++)
		one_session();
	printf("%u sessions, %lu calls, %lu failed, %lu events, %lu hits\n", n, target.n_calls,
	       target.n_failed, target.n_events, target.n_hits);
	return 0;
}
