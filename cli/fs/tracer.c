/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/tracer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/clock.h"
#include "cli/common/message.h"
#include "cli/fs/clock.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"
#include "engine/ubp_sink.h"
#include "engine/ubp_stats.h"
#include "engine/ubp_trigger.h"

/* Hits wait about a millisecond in the engine, until it knows that no older ones will come: ubp_dispatch() leaves these out. */
#define RIPE_NS 3000000

/* Of a stack, as many as the kernel's. */
#define FRAMES 8
/* A line for each. */
#define FRAME_LINE (sizeof(" =>  <0000000000000000>\n") - 1)
#define STACK_HEAD "<user stack trace>\n"

struct fs_tracer {
	struct fs_tracer_ops ops;
	struct ubp_session *session; /* NULL: nothing is traced */
	struct ubp_sink *sink;
	struct wanted_list list; /* what the session has: the cookies of its probes */
	unsigned generation;     /* of the newest session */
	bool has_stacks;         /* it takes them */
	bool is_kept;            /* there is one, even if nothing is traced */
	bool has_failed;
};

static void free_wanted(struct wanted *wanted)
{
	if (!wanted)
		return;
	free(wanted->definition);
	free(wanted->filter);
	free(wanted->group);
	free(wanted);
}

void wanted_free(struct wanted_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free_wanted(list->items[i]);
	free(list->items);
	*list = (struct wanted_list){ 0 };
}

struct fs_tracer *fs_tracer_new(const struct fs_tracer_ops *ops)
{
	struct fs_tracer *tracer = calloc(1, sizeof(*tracer));

	if (tracer)
		tracer->ops = *ops;
	return tracer;
}

/* --- events ----------------------------------------------------------------- */

/* How much of the @len bytes of @line is the event, and not its stack, which begins as that does. */
static size_t len_of_event(const struct ubp_event *event, const char *line, size_t len)
{
	size_t n = ubp_event_stack(event, NULL, 0), at, behind, of_stack;

	if (!n || !fs_line_time(line, len, &at, &behind))
		return len;
	of_stack = behind + strlen(": ") + strlen(STACK_HEAD) + n * FRAME_LINE;
	return of_stack < len ? len - of_stack : len;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct fs_tracer *tracer = ctx;
	const struct wanted *wanted =
		ubp_event_probe(event) < 0 ? NULL : ubp_event_cookie(event);
	size_t len, n;
	const char *line = ubp_sink_event(tracer->sink, event, &len);

	if (!len)
		return 0;
	n = len_of_event(event, line, len);
	if (!ubp_trigger_event_is_stack(event))
		tracer->ops.event(tracer->ops.ctx, wanted, event, line, n);
	if (n < len && wanted && wanted->with_stack)
		tracer->ops.event(tracer->ops.ctx, wanted, event, line + n, len - n);
	return 0;
}

bool fs_tracer_dispatch(struct fs_tracer *tracer)
{
	struct ubp_err err;

	if (!tracer->session)
		return true;
	ubp_err_reset(&err);
	if (ubp_dispatch(tracer->session, on_event, tracer, &err) >= 0)
		return true;
	(void)cli_error_record(&err);
	tracer->has_failed = true;
	return false;
}

bool fs_tracer_sync(struct fs_tracer *tracer)
{
	uint64_t begun_ns = cli_now_ns();

	while (tracer->session && cli_now_ns() - begun_ns < RIPE_NS) {
		if (!fs_tracer_dispatch(tracer))
			return false;
		(void)poll(NULL, 0, 1);
	}
	return fs_tracer_dispatch(tracer);
}

static uint64_t hits_of(const struct fs_tracer *tracer, const struct wanted *wanted)
{
	struct ubp_probe_stats stats;

	ubp_probe_stats(tracer->session, wanted->number, &stats);
	return stats.hits;
}

/* A hit is one in however many instances: what one of them has seen more than all were told. */
static void count(struct fs_tracer *tracer, struct wanted *first)
{
	int64_t most = 0;

	for (struct wanted *at = first; at; at = at->also) {
		int64_t more = (int64_t)(hits_of(tracer, at) - at->told);

		most = more > most ? more : most;
	}
	for (struct wanted *at = first; at; at = at->also)
		at->told += (uint64_t)most;
	if (most)
		tracer->ops.hits(tracer->ops.ctx, first->probe, (uint64_t)most);
}

void fs_tracer_count(struct fs_tracer *tracer)
{
	for (size_t i = 0; tracer->session && i < tracer->list.n; i++)
		if (!tracer->list.items[i]->is_also)
			count(tracer, tracer->list.items[i]);
}

/* --- a session -------------------------------------------------------------- */

static int start(struct fs_tracer *tracer, bool with_stacks, struct ubp_err *err)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_sink_options form = { .form = "text", .raw = true };
	int rc;

	options.strict = true;
	options.engine.apart = UBP_APART_NO;
	options.warn = cli_warn;
	options.clock = "mono";
	if (with_stacks)
		options.stack = UBP_STACK_FP;
	options.frames = FRAMES;
	options.stack_raw = true;
	tracer->has_stacks = with_stacks;
	tracer->generation++;
	rc = ubp_session_new(&options, &tracer->session, err);
	if (rc == 0)
		rc = ubp_sink_new(tracer->session, &form, &tracer->sink, err);
	return rc == 0 ? ubp_start(tracer->session, err) : rc;
}

/* What it had is told. */
static void stop(struct fs_tracer *tracer)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (tracer->session && tracer->sink) {
		ubp_stop(tracer->session);
		(void)ubp_drain(tracer->session, on_event, tracer, &err);
		fs_tracer_count(tracer);
	}
	ubp_sink_free(tracer->sink);
	ubp_session_free(tracer->session);
	wanted_free(&tracer->list);
	tracer->sink = NULL;
	tracer->session = NULL;
}

/* --- its probes ------------------------------------------------------------- */

static struct wanted *find(const struct wanted_list *list, const struct wanted *like)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->probe == like->probe &&
		    list->items[i]->instance == like->instance)
			return list->items[i];
	return NULL;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A thread that waits in trace_pipe is stopped once it has been given something: the change is done then. */
static int be_patient(int rc, const struct ubp_err *err)
{
	if (rc != -ETIMEDOUT)
		return rc;
	cli_warn(NULL, err->text);
	return 0;
}

/* The first @n of @new, which have one filter, in one change. Nothing is handed out before they have their cookies. */
static int add_alike(struct fs_tracer *tracer, struct wanted **new, size_t n,
		     struct ubp_err *err)
{
	struct ubp_probe_options options = UBP_PROBE_OPTIONS_INIT;
	const char **texts = calloc(n, sizeof(*texts));
	size_t first = 0;
	int rc;

	if (!texts || VEC_FIT(tracer->list.items, tracer->list.n + n) < 0) {
		free(texts);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		texts[i] = new[i]->definition;
	options.form = UBP_FORM_EVENTS;
	options.filter = new[0]->filter;
	rc = be_patient(ubp_probes_add(tracer->session, texts, n, &options, &first, NULL, err),
			err);
	free(texts);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		new[i]->number = first + i;
		rc = ubp_probe_set_cookie(tracer->session, new[i]->number, new[i], err);
		tracer->list.items[tracer->list.n++] = new[i];
		new[i] = NULL;
	}
	return rc;
}

/* The @n of @new: those that have the same filter in one change each. */
static int add_new(struct fs_tracer *tracer, struct wanted **new, size_t n, struct ubp_err *err)
{
	int rc = 0;

	while (rc == 0 && n) {
		const char *filter = new[0]->filter;
		size_t n_alike = 0;

		for (size_t i = 0; i < n; i++) {
			struct wanted *wanted = new[i];

			if (!is_same(wanted->filter, filter))
				continue;
			new[i] = new[n_alike];
			new[n_alike++] = wanted;
		}
		rc = add_alike(tracer, new, n_alike, err);
		new += n_alike;
		n -= n_alike;
	}
	return rc;
}

/* What has been recorded of @wanted is all that will be. */
static void switch_off(struct fs_tracer *tracer, struct wanted *wanted)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	wanted->is_off = ubp_probe_enable(tracer->session, wanted->number, false, &err) == 0;
}

/* Those of one probe find each other. */
static void link_alike(const struct wanted_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		list->items[i]->is_also = false;
		list->items[i]->also = NULL;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct wanted *last = list->items[i];

		for (size_t k = i + 1; !list->items[i]->is_also && k < list->n; k++) {
			struct wanted *other = list->items[k];

			if (other->probe != last->probe)
				continue;
			last->also = other;
			other->is_also = true;
			last = other;
		}
	}
}

/* Of a probe somebody has gone who may have seen more than those who stay: what they see from now on is new. */
static void tell_from_now(const struct fs_tracer *tracer)
{
	for (size_t i = 0; i < tracer->list.n; i++) {
		struct wanted *wanted = tracer->list.items[i];
		uint64_t hits = hits_of(tracer, wanted);

		wanted->told = hits < wanted->told ? hits : wanted->told;
	}
}

/* Those that go, in one change; what they have recorded is told first. Where that fails they stay until the next change, switched off. */
static void remove_going(struct fs_tracer *tracer)
{
	struct wanted_list *list = &tracer->list;
	size_t *numbers = calloc(list->n + 1, sizeof(*numbers)), n = 0, kept = 0;
	struct ubp_err err;
	int rc;

	for (size_t i = 0; i < list->n; i++) {
		if (!list->items[i]->goes)
			continue;
		switch_off(tracer, list->items[i]);
		if (numbers)
			numbers[n++] = list->items[i]->number;
	}
	if (!n) {
		free(numbers);
		return;
	}
	(void)fs_tracer_sync(tracer);
	fs_tracer_count(tracer);
	ubp_err_reset(&err);
	rc = be_patient(ubp_probes_remove(tracer->session, numbers, n, &err), &err);
	free(numbers);
	if (rc < 0)
		(void)cli_error_record(&err);
	for (size_t i = 0; i < list->n; i++)
		if (rc == 0 && list->items[i]->goes)
			free_wanted(list->items[i]);
		else
			list->items[kept++] = list->items[i];
	list->n = kept;
	link_alike(list);
	tell_from_now(tracer);
}

/* @has is there, and may have been left switched off. It gets the filter of @wanted. */
static int keep(struct fs_tracer *tracer, struct wanted *has, struct wanted *wanted,
		struct ubp_err *err)
{
	char *filter = has->filter;
	int rc = 0;

	has->with_stack = wanted->with_stack;
	if (!is_same(filter, wanted->filter)) {
		rc = be_patient(
			ubp_probe_set_filter(tracer->session, has->number, wanted->filter, err),
			err);
		if (rc < 0)
			return rc;
		has->filter = wanted->filter;
		wanted->filter = filter;
	}
	if (has->is_off)
		rc = ubp_probe_enable(tracer->session, has->number, true, err);
	has->is_off = rc < 0;
	return rc;
}

/* Those of @list that become the tracer's are NULL there then. */
static int change(struct fs_tracer *tracer, struct wanted_list *list, struct ubp_err *err)
{
	size_t n_before = tracer->list.n, n_kept = 0;
	int rc = 0;

	for (size_t i = 0; i < n_before; i++)
		tracer->list.items[i]->goes = !find(list, tracer->list.items[i]);
	for (size_t i = 0; rc == 0 && i < list->n; i++) {
		struct wanted *wanted = list->items[i], *has = find(&tracer->list, wanted);

		if (!has)
			continue;
		/* New ones are behind it. */
		list->items[i] = list->items[n_kept];
		list->items[n_kept++] = wanted;
		rc = keep(tracer, has, wanted, err);
	}
	/* New ones have seen nothing of what was hit by then. */
	fs_tracer_count(tracer);
	if (rc == 0)
		rc = add_new(tracer, list->items + n_kept, list->n - n_kept, err);
	link_alike(&tracer->list);
	for (size_t i = 0; rc < 0 && i < tracer->list.n; i++)
		tracer->list.items[i]->goes = i >= n_before;
	remove_going(tracer);
	return rc;
}

static bool wants_stacks(const struct wanted_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->with_stack)
			return true;
	return false;
}

int fs_tracer_set(struct fs_tracer *tracer, struct wanted_list *list, bool may_restart,
		  struct ubp_err *err)
{
	bool had_some = tracer->list.n, was_there = false,
	     is_wanted = list->n || tracer->is_kept;
	bool with_stacks = wants_stacks(list);
	int rc = 0;

	tracer->has_failed = false;
	if (!is_wanted) {
		stop(tracer);
		return 0;
	}
	if (tracer->session && with_stacks != tracer->has_stacks) {
		if (may_restart)
			stop(tracer);
		else if (with_stacks)
			return ubp_fail(err, EBUSY, "there are triggers");
	}
	was_there = tracer->session;
	if (!was_there)
		rc = start(tracer, with_stacks, err);
	if (rc == 0)
		rc = change(tracer, list, err);
	if (rc < 0 && !tracer->list.n && !(was_there && tracer->is_kept)) {
		stop(tracer);
		tracer->has_failed = had_some;
	}
	return rc;
}

void fs_tracer_keep(struct fs_tracer *tracer, bool on)
{
	tracer->is_kept = on;
}

struct ubp_session *fs_tracer_session(const struct fs_tracer *tracer)
{
	return tracer->session;
}

unsigned fs_tracer_generation(const struct fs_tracer *tracer)
{
	return tracer->session ? tracer->generation : 0;
}

int fs_tracer_place(struct fs_tracer *tracer, uint16_t instance, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < tracer->list.n; i++) {
		struct wanted *wanted = tracer->list.items[i];

		if (wanted->instance != instance || wanted->is_placed || wanted->goes)
			continue;
		rc = ubp_trigger_probe(tracer->session, wanted->number, wanted->group, err);
		wanted->is_placed = rc == 0;
	}
	return rc;
}

int fs_tracer_fd(const struct fs_tracer *tracer)
{
	return tracer->session ? ubp_fd(tracer->session) : -1;
}

bool fs_tracer_has_failed(const struct fs_tracer *tracer)
{
	return tracer->has_failed;
}

void fs_tracer_free(struct fs_tracer *tracer)
{
	if (!tracer)
		return;
	stop(tracer);
	free(tracer);
}
