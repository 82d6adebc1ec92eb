/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * apart_handlers apart|here CASE PID PROGRAM: a host whose handlers run at greet() of process PID, which runs the fixture PROGRAM, for
 * apart_handlers.sh. It says "ready" when it traces, and then what happens, a line each. With "here" handlers run on a thread that traces.
 *
 *	stands   the first handler leaves the function out and changes a register, says "stands", and waits for a line; then it tries to read and to write, and returns
 *	between+N  the same at the instruction N bytes behind the function's first, where the first has changed its argument and one at the return has not run yet
 *	forks    the same, and a child that has all that the host has lives on; it is told
 *	later    the session begins without a probe; threads add probes with handlers of their own, and remove them in the end
 *	stops    while the first handler runs another thread stops the session: it waits. What the handler calls meanwhile is answered
 *	removes  the same of a thread that removes the probe
 *	self     the host itself is to be traced, too, where nothing of it is waited for
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

#define THREADS 4

static struct ubp_session *session;
static char place[4096]; /* FILE:FUNCTION */
static const char *what;
static long n_events;
static atomic_bool is_standing, is_through; /* the first handler */
static atomic_int waiter;                   /* who is about to wait for that */

static void must(int rc, const struct ubp_err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void await_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static int count(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	n_events += ubp_event_probe(event) >= 0;
	return 0;
}

/* --- stands, forks ---------------------------------------------------------------------------- */

static enum ubp_verdict stand(void *cookie, struct ubp_hit *hit)
{
	static bool was_there;
	struct ubp_stats stats;
	struct ubp_err err;
	uint64_t name = 0, times = 0;
	char bytes[4];

	if (was_there)
		return UBP_HIT_RECORD;
	was_there = true;
	if (ubp_hit_arg(hit, 0, &name) < 0 || ubp_hit_arg(hit, 1, &times) < 0)
		say("no arguments");
	must(ubp_hit_set_arg(hit, 1, times + 1, &err), &err);
	must(ubp_hit_skip(hit, 1000, &err), &err);
	say("stands");
	await_line();
	printf("read %zu\n", ubp_hit_read(hit, name, bytes, 1));
	printf("write %d: %s\n", ubp_hit_write(hit, name, cookie, 1, &err), err.text);
	printf("remove %d: %s\n", ubp_probes_remove(session, (size_t[]){ 0 }, 1, &err),
	       err.text);
	ubp_stats(session, &stats);
	say("returns");
	return UBP_HIT_DROP;
}

/* --- between ------------------------------------------------------------------------------------ */

static enum ubp_verdict shorten(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err err;
	uint64_t name = 0;

	(void)cookie;
	must(ubp_hit_arg(hit, 0, &name), &err);
	must(ubp_hit_set_arg(hit, 0, name + 1, &err), &err);
	return UBP_HIT_DROP;
}

static enum ubp_verdict stand_inside(void *cookie, struct ubp_hit *hit)
{
	(void)cookie;
	(void)hit;
	say("stands");
	await_line();
	return UBP_HIT_DROP;
}

static enum ubp_verdict give_result(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err err;

	(void)cookie;
	must(ubp_hit_set_result(hit, 1000, &err), &err);
	return UBP_HIT_DROP;
}

/* --- later -------------------------------------------------------------------------------------- */

struct adder {
	pthread_t id;
	const char *event;
	size_t number;
	long n_hits, sum; /* of second arguments; the handlers' thread's */
};

static enum ubp_verdict add_up(void *cookie, struct ubp_hit *hit)
{
	struct adder *a = cookie;
	struct ubp_err err;
	uint64_t times = 0;

	a->n_hits++;
	if (ubp_hit_arg(hit, 1, &times) == 0)
		a->sum += (long)times;
	/* The next one's handler sees it. */
	must(ubp_hit_set_arg(hit, 1, times + 1, &err), &err);
	return UBP_HIT_DROP;
}

/* @kind: 'p' or 'r'; @behind the function's name: "", or "+N". */
static size_t add_at(char kind, const char *event, const char *behind, ubp_handler_fn *handler,
		     void *cookie)
{
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char definition[sizeof(place) + 32];
	const char *text = definition;
	struct ubp_err err;
	size_t number = 0;

	(void)snprintf(definition, sizeof(definition), "%c:%s %s%s", kind, event, place,
		       behind);
	opt.handler = handler;
	opt.may_change = true;
	opt.cookie = cookie;
	must(ubp_probes_add(session, &text, 1, &opt, &number, NULL, &err), &err);
	return number;
}

static size_t add(const char *event, ubp_handler_fn *handler, void *cookie)
{
	return add_at('p', event, "", handler, cookie);
}

static void *add_one(void *arg)
{
	struct adder *a = arg;

	a->number = add(a->event, add_up, a);
	return NULL;
}

static void *remove_one(void *arg)
{
	struct adder *a = arg;
	struct ubp_err err;

	must(ubp_probes_remove(session, &a->number, 1, &err), &err);
	return NULL;
}

/* Each by a thread of its own. */
static void in_threads(struct adder *adders, void *(*fn)(void *arg))
{
	for (int i = 0; i < THREADS; i++)
		pthread_create(&adders[i].id, NULL, fn, &adders[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(adders[i].id, NULL);
}

static void later(void)
{
	struct adder adders[THREADS] = {
		{ .event = "a" }, { .event = "b" }, { .event = "c" }, { .event = "d" }
	};
	struct ubp_handler_stats stats = UBP_HANDLER_STATS_INIT;
	long sum = 0;

	say("ready");
	in_threads(adders, add_one);
	say("added");
	await_line();
	for (int i = 0; i < THREADS; i++) {
		if (ubp_probe_handler_stats(session, adders[i].number, &stats) < 0)
			say("no counts");
		sum += adders[i].sum;
		printf("%ld hits, %lu changed, %lu dropped\n", adders[i].n_hits,
		       (unsigned long)stats.changed, (unsigned long)stats.dropped);
	}
	printf("sum %ld\n", sum);
	in_threads(adders, remove_one);
}

/* --- stops, removes ------------------------------------------------------------------------------- */

/* Does thread @tid sleep? It has said that it does not before it calls what is to wait. */
static bool is_asleep(int tid)
{
	char path[64], state = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

static enum ubp_verdict be_waited_for(void *cookie, struct ubp_hit *hit)
{
	static bool was_there;
	struct ubp_probe_stats stats;
	struct ubp_err err;
	size_t number = ubp_hit_probe(hit);
	uint64_t times = 0;

	if (was_there)
		return UBP_HIT_RECORD;
	was_there = true;
	is_standing = true;
	while (!waiter || !is_asleep(waiter) ||
	       (strcmp(what, "removes") == 0 && ubp_probe_event(session, number)))
		sched_yield();
	ubp_probe_stats(session, number, &stats);
	printf("hits %lu event %s cookie %d\n", (unsigned long)stats.hits,
	       ubp_probe_event(session, number) ? "there" : "gone",
	       ubp_probe_cookie(session, number) == cookie);
	printf("dispatch %d\n", ubp_dispatch(session, count, NULL, &err));
	ubp_stop(session);
	ubp_session_free(session);
	(void)ubp_hit_arg(hit, 1, &times);
	printf("times %lu\n", (unsigned long)times);
	is_through = true;
	return UBP_HIT_RECORD;
}

static void *wait_for_handler(void *arg)
{
	size_t *number = arg;
	struct ubp_err err;

	while (!is_standing)
		sched_yield();
	waiter = gettid();
	if (strcmp(what, "removes") == 0)
		must(ubp_probes_remove(session, number, 1, &err), &err);
	else
		ubp_stop(session);
	printf("%s: the handler is through: %d\n", what, is_through);
	fflush(stdout);
	return NULL;
}

static void wait_beside(void)
{
	size_t number = add("waited", be_waited_for, &number);
	pthread_t id;

	pthread_create(&id, NULL, wait_for_handler, &number);
	say("ready");
	pthread_join(id, NULL);
}

/* --- self ------------------------------------------------------------------------------------------- */

static enum ubp_verdict look(void *cookie, struct ubp_hit *hit)
{
	(void)cookie;
	(void)hit;
	return UBP_HIT_DROP;
}

static void told(const char *call, int rc, const struct ubp_err *err)
{
	printf("%s: %d%s%s\n", call, rc, rc < 0 ? " " : "", rc < 0 ? err->text : "");
	fflush(stdout);
}

static int try_handler(const char *event, struct ubp_err *err)
{
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char definition[sizeof(place) + 32];
	const char *text = definition;

	(void)snprintf(definition, sizeof(definition), "p:%s %s", event, place);
	opt.handler = look;
	return ubp_probes_add(session, &text, 1, &opt, NULL, NULL, err);
}

static void trace_self(void)
{
	struct ubp_err err;
	pid_t self = getpid();

	told("add", ubp_add_pid(session, self, &err), &err);
	told("again", ubp_add_pid(session, self, &err), &err);
	told("handler", try_handler("first", &err), &err);
	told("remove", ubp_remove_pid(session, self, &err), &err);
	told("handler", try_handler("second", &err), &err);
	told("add", ubp_add_pid(session, self, &err), &err);
}

/* --- the session -------------------------------------------------------------------------------------- */

static void begin(int is_apart, pid_t pid, bool is_lossless)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_err err;

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.lossless = is_lossless;
	opt.engine.apart = is_apart ? UBP_APART_YES : UBP_APART_NO;
	must(ubp_session_new(&opt, &session, &err), &err);
	must(ubp_start(session, &err), &err);
}

static void let_a_child_live(void)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	printf("child %d\n", (int)child);
	fflush(stdout);
}

static void run(void)
{
	struct pollfd p = { ubp_fd(session), POLLIN, 0 };
	struct ubp_err err;

	while (!ubp_is_done(session)) {
		int n;

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			exit(1);
		n = ubp_dispatch(session, count, NULL, &err);
		if (n < 0) {
			printf("dispatch %s: %s\n", strerrorname_np(err.code), err.text);
			fflush(stdout);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	struct ubp_err err;

	if (argc != 5)
		return 2;
	alarm(60);
	what = argv[2];
	(void)snprintf(place, sizeof(place), "%s:greet", argv[4]);
	begin(strcmp(argv[1], "apart") == 0, atoi(argv[3]), false);
	if (strcmp(what, "later") == 0) {
		later();
	} else if (strcmp(what, "stops") == 0 || strcmp(what, "removes") == 0) {
		wait_beside();
	} else if (strncmp(what, "between", 7) == 0) {
		(void)add("first", shorten, NULL);
		(void)add_at('p', "inside", what + 7, stand_inside, NULL);
		(void)add_at('r', "last", "", give_result, NULL);
		say("ready");
	} else if (strcmp(what, "self") == 0) {
		say("ready");
		trace_self();
		ubp_session_free(session);
		begin(strcmp(argv[1], "apart") == 0, atoi(argv[3]), true);
		told("lossless", ubp_add_pid(session, getpid(), &err), &err);
		say("told");
	} else {
		(void)add("stood", stand, (void *)"x");
		say("ready");
		if (strcmp(what, "forks") == 0)
			let_a_child_live();
	}
	run();
	ubp_stop(session);
	(void)ubp_drain(session, count, NULL, &err);
	ubp_session_free(session);
	printf("events %ld\n", n_events);
	return 0;
}
