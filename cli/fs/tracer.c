/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_sink.h"
#include "engine/ubp_stats.h"

struct fs_tracer {
	struct fs_tracer_ops ops;
	struct ubp_session *session; /* NULL: nothing is traced */
	struct ubp_sink *sink;
	const char *clock;
	struct wanted_list list; /* the session's probes, in their order */
	uint64_t *told;          /* of each, hits that were told of */
	bool has_failed;
};

void wanted_free(struct wanted_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].definition);
		free(list->items[i].filter);
	}
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

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct fs_tracer *tracer = ctx;
	int i = ubp_event_probe(event);
	size_t len;
	const char *line = ubp_sink_event(tracer->sink, event, &len);

	if (len)
		tracer->ops.event(tracer->ops.ctx, i < 0 ? NULL : &tracer->list.items[i], event,
				  line, len);
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

void fs_tracer_count(struct fs_tracer *tracer)
{
	struct ubp_probe_stats stats;

	for (size_t i = 0; tracer->session && tracer->told && i < tracer->list.n; i++) {
		ubp_probe_stats(tracer->session, i, &stats);
		tracer->ops.hits(tracer->ops.ctx, tracer->list.items[i].probe,
				 stats.hits - tracer->told[i]);
		tracer->told[i] = stats.hits;
	}
}

/* --- sessions --------------------------------------------------------------- */

static int start(struct fs_tracer *tracer, struct ubp_err *err)
{
	const struct wanted_list *list = &tracer->list;
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_sink_options form = { .form = "text", .raw = true };
	int rc;

	options.strict = true;
	options.warn = cli_warn;
	options.clock = tracer->clock;
	tracer->told = calloc(list->n, sizeof(*tracer->told));
	if (!tracer->told)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = ubp_session_new(&options, &tracer->session, err);
	for (size_t i = 0; rc == 0 && i < list->n; i++)
		rc = ubp_add_events(tracer->session, list->items[i].definition,
				    strlen(list->items[i].definition), list->items[i].filter,
				    err);
	if (rc == 0)
		rc = ubp_sink_new(tracer->session, &form, &tracer->sink, err);
	return rc == 0 ? ubp_start(tracer->session, err) : rc;
}

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
	free(tracer->told);
	tracer->sink = NULL;
	tracer->session = NULL;
	tracer->told = NULL;
}

int fs_tracer_set(struct fs_tracer *tracer, struct wanted_list *list, const char *clock,
		  struct ubp_err *err)
{
	struct wanted_list before = tracer->list;
	const char *clock_before = tracer->clock;
	struct ubp_err again;
	int rc;

	stop(tracer);
	tracer->has_failed = false;
	tracer->list = *list;
	tracer->clock = clock;
	rc = list->n ? start(tracer, err) : 0;
	if (rc == 0) {
		wanted_free(&before);
		*list = (struct wanted_list){ 0 };
		return 0;
	}
	stop(tracer);
	tracer->list = before;
	tracer->clock = clock_before;
	ubp_err_reset(&again);
	if (before.n && start(tracer, &again) < 0) {
		(void)cli_error_record(&again);
		stop(tracer);
		tracer->has_failed = true;
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
	wanted_free(&tracer->list);
	free(tracer);
}
