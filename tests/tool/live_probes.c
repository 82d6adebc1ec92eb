/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * live_probes PID ROUNDS DEFINITION OTHER...: traces by DEFINITION until all its places are jumps. Then, ROUNDS times, each OTHER is added, and
 * removed again, while the process runs; both have to have hits meanwhile, and the first one behind it, by jumps or not. For tests.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/mailbox.h"
#include "engine/event/record.h"
#include "engine/session/event.h"
#include "engine/session/live.h"
#include "engine/session/state.h"
#include "engine/space/uprobe.h"
#include "engine/ubp.h"
#include "tests/unit/live_one.h"

#define NUMBERS  4096
#define WAITS_MS 10
#define TRIES    3000

static struct ubp_session *session;
static uint64_t hits[NUMBERS];
static struct ubp_err err;

static int on_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	if (event->record->kind == EVENT_HIT && event->record->probe < NUMBERS)
		hits[event->record->probe]++;
	return 0;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, err.text);
	ubp_session_free(session);
	exit(1);
}

static void dispatch(void)
{
	struct pollfd p = { .fd = ubp_fd(session), .events = POLLIN };

	(void)poll(&p, 1, WAITS_MS);
	if (ubp_dispatch(session, on_event, NULL, &err) < 0)
		fail("dispatch");
}

static void await(uint64_t ticket, const char *what)
{
	struct mailbox_answer answer;

	while (!live_look(session, ticket, &answer))
		dispatch();
	if (answer.code) {
		ubp_fail(&err, 1, "%s", answer.text);
		fail(what);
	}
}

/* One more of @number from now on. */
static void await_hit(unsigned number, const char *what)
{
	uint64_t was;

	for (int i = 0; i < 2; i++)
		dispatch();
	was = hits[number];
	for (int i = 0; i < TRIES && hits[number] == was; i++)
		dispatch();
	if (hits[number] == was)
		fail(what);
}

static void await_jumps(void)
{
	const struct uprobe_stats *st = &live_probe(session, 0)->stats;

	for (int i = 0; i < TRIES; i++) {
		uint32_t jumped = __atomic_load_n(&st->jumped, __ATOMIC_RELAXED);

		if (jumped && jumped == __atomic_load_n(&st->sites, __ATOMIC_RELAXED))
			return;
		dispatch();
	}
	ubp_fail(&err, 1, "%s", st->no_jump ? st->no_jump : "");
	fail("they do not become jumps");
}

static void add_and_remove(const char *definition)
{
	unsigned number;
	uint64_t ticket;

	if (live_add_one(session, definition, NULL, &number, &ticket, &err) < 0)
		fail(definition);
	await(ticket, definition);
	await_hit(number, definition);
	await_hit(0, "no hits beside another one");
	if (live_remove_one(session, number, &ticket, &err) < 0)
		fail("remove");
	await(ticket, "remove");
	await_hit(0, "no hits behind another one");
}

int main(int argc, char **argv)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	pid_t pid = argc > 4 ? atoi(argv[1]) : 0;

	if (!pid)
		return 2;
	ubp_err_reset(&err);
	options.pids = &pid;
	options.n_pids = 1;
	options.limits.max_rate = UINT32_MAX;
	options.limits.max_overhead = 100;
	if (ubp_session_new(&options, &session, &err) < 0 ||
	    ubp_add(session, argv[3], NULL, &err) < 0 || ubp_start(session, &err) < 0)
		fail(argv[3]);
	await_jumps();
	for (int i = 0; i < atoi(argv[2]); i++)
		for (int k = 4; k < argc; k++)
			add_and_remove(argv[k]);
	ubp_stop(session);
	ubp_session_free(session);
	return 0;
}
