/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The requests of a host about triggers, counts and recordings, as calls of the public functions. */

#include <errno.h>
#include <string.h>

#include "engine/apart/err_wire.h"
#include "engine/base/err.h"
#include "engine/session/rows_wire.h"
#include "engine/session/serve_priv.h"
#include "engine/ubp_heap.h"
#include "engine/ubp_record.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

/* --- triggers ---------------------------------------------------------------------------------- */

static int change_triggers(struct served *v, enum apart_trigger what, const char *event,
			   const char *text, uint64_t number, struct ubp_err *err)
{
	struct ubp_session *s = v->session;

	switch (what) {
	case APART_TRIGGER_WRITE:
		return ubp_trigger_write(s, event, text, err);
	case APART_TRIGGER_RECORD:
		return ubp_trigger_record(s, event, number, err);
	case APART_TRIGGER_FILTER:
		return ubp_trigger_filter(s, event, text, err);
	case APART_TRIGGER_CLEAR:
		return ubp_trigger_clear(s, event, err);
	case APART_TRIGGER_SETTLE:
		return ubp_trigger_settle(s, err);
	case APART_TRIGGER_SET_TRACING:
		return ubp_trigger_set_tracing(s, number);
	case APART_TRIGGER_SNAPSHOT_AFTER:
		return ubp_trigger_snapshot_after(s, number);
	case APART_TRIGGER_ON_SNAPSHOT:
		return serve_traces_on_snapshot(v, number);
	case APART_SYNTHETIC_ADD:
		return ubp_synthetic_add(s, text, err);
	case APART_SYNTHETIC_CLEAR:
		return ubp_synthetic_clear(s, err);
	case APART_TRIGGER_PROBE:
		return ubp_trigger_probe(s, number, text, err);
	case APART_TRIGGER_TRACE:
		return serve_traces_choose(v, text, number, err);
	case APART_TRIGGER_TRACE_END:
		serve_traces_end(v, text);
		return 0;
	}
	return ubp_fail(err, EPROTO, "the engine does not know change %d of triggers",
			(int)what);
}

/* Is this called with no event, or no text, that it takes? */
static bool lacks(enum apart_trigger what, const char *event, const char *text)
{
	bool takes_event = what <= APART_TRIGGER_CLEAR;
	bool takes_text = what == APART_TRIGGER_WRITE || what == APART_SYNTHETIC_ADD ||
			  what >= APART_TRIGGER_PROBE;

	return (takes_event && !event) || (takes_text && !text);
}

int64_t serve_trigger(struct served *v, struct ubp_err *err)
{
	enum apart_trigger what = (enum apart_trigger)wire_get(&v->in);
	const char *event = wire_get_text(&v->in), *text = wire_get_text(&v->in);
	uint64_t number = wire_get(&v->in);

	if (v->in.failed || lacks(what, event, text))
		return ubp_fail(err, EINVAL, "no event, or no text");
	if (what == APART_SYNTHETIC_ADD || what == APART_SYNTHETIC_CLEAR ||
	    what == APART_TRIGGER_TRACE_END)
		serve_forget_made(v);
	return change_triggers(v, what, event, text, number, err);
}

static const char *trigger_text(struct ubp_session *s, enum apart_trigger_text what,
				const char *event, size_t *ret_len)
{
	const char *state;

	switch (what) {
	case APART_TRIGGER_LIST:
		return event ? ubp_trigger_list(s, event, ret_len) : NULL;
	case APART_TRIGGER_HIST:
		return event ? ubp_trigger_hist(s, event, ret_len) : NULL;
	case APART_TRIGGER_HIST_JSON:
		return event ? ubp_trigger_hist_json(s, event, ret_len) : NULL;
	case APART_TRIGGER_STATE:
		state = event ? ubp_trigger_state(s, event) : NULL;
		*ret_len = state ? strlen(state) : 0;
		return state;
	case APART_SYNTHETIC_FORMAT:
		return event ? ubp_synthetic_format(s, event, ret_len) : NULL;
	case APART_SYNTHETIC_LIST:
		return ubp_synthetic_list(s, ret_len);
	}
	return NULL;
}

int64_t serve_trigger_text(struct served *v, struct ubp_err *err)
{
	enum apart_trigger_text what = (enum apart_trigger_text)wire_get(&v->in);
	size_t len = 0;
	const char *text = trigger_text(v->session, what, wire_get_text(&v->in), &len);

	(void)err;
	wire_put_bytes(&v->answer, text, len);
	return 0;
}

/* An entry is behind the histogram that it is of. */
static void put_row(void *ctx, const struct ubp_trigger_hist *hist,
		    const struct ubp_tally_row *row)
{
	struct served *v = ctx;

	wire_put(&v->answer, row ? 2 : 1);
	if (row) {
		rows_put(&v->answer, row);
		return;
	}
	wire_put(&v->answer, hist->number);
	wire_put(&v->answer, hist->n);
	wire_put(&v->answer, hist->dropped);
	wire_put_text(&v->answer, hist->name);
}

int64_t serve_trigger_rows(struct served *v, struct ubp_err *err)
{
	const char *event = wire_get_text(&v->in);
	int rc = event ? ubp_trigger_hist_rows(v->session, event, put_row, v) : -ENOENT;

	(void)err;
	wire_put(&v->answer, 0);
	return rc;
}

static void put_error(void *ctx, const char *where, const struct ubp_err *wrong)
{
	struct served *v = ctx;

	wire_put(&v->answer, 1);
	wire_put_text(&v->answer, where);
	err_wire_put(&v->answer, wrong);
}

int64_t serve_trigger_errors(struct served *v, struct ubp_err *err)
{
	(void)err;
	ubp_trigger_errors(v->session, put_error, v);
	wire_put(&v->answer, 0);
	return 0;
}

/* --- counts ------------------------------------------------------------------------------------ */

int64_t serve_tally(struct served *v, struct ubp_err *err)
{
	const char *text = wire_get_text(&v->in);

	return text ? ubp_tally(v->session, text, err) : ubp_fail(err, EINVAL, "no text");
}

int64_t serve_tally_events(struct served *v, struct ubp_err *err)
{
	return ubp_tally_events(v->session, err);
}

int64_t serve_tally_take(struct served *v, struct ubp_err *err)
{
	const struct ubp_tally *tally = ubp_tally_take(v->session);
	size_t n = tally ? ubp_tally_n(tally) : 0;
	struct ubp_tally_row row;

	if (!tally)
		return ubp_fail(err, ENODATA, "nothing counts, or memory is short");
	wire_put(&v->answer, ubp_tally_hits(tally));
	wire_put(&v->answer, ubp_tally_dropped(tally));
	wire_put(&v->answer, n);
	for (size_t i = 0; i < n; i++) {
		ubp_tally_row(tally, i, &row);
		rows_put(&v->answer, &row);
	}
	return 0;
}

int64_t serve_heap(struct served *v, struct ubp_err *err)
{
	size_t i = wire_get(&v->in);
	bool is_free = wire_get(&v->in);
	const char *text = wire_get_text(&v->in);

	if (!text)
		return ubp_fail(err, EINVAL, "no text");
	return is_free ? ubp_heap_frees(v->session, i, text, err)
		       : ubp_heap_allocates(v->session, i, text, err);
}

int64_t serve_heap_take(struct served *v, struct ubp_err *err)
{
	size_t n_known = wire_get(&v->in), n = ubp_heap_n(v->session);
	struct ubp_heap_row row;

	(void)err;
	wire_put(&v->answer, ubp_heap_is_short(v->session));
	wire_put(&v->answer, n);
	for (size_t i = 0; i < n; i++) {
		ubp_heap_row(v->session, i, &row);
		wire_put(&v->answer, row.live);
		wire_put(&v->answer, row.allocated);
		wire_put(&v->answer, row.n_live);
		wire_put(&v->answer, row.n_allocated);
		if (i >= n_known)
			wire_put_text(&v->answer, row.stack);
	}
	return 0;
}

/* --- recordings -------------------------------------------------------------------------------- */

int64_t serve_record(struct served *v, struct ubp_err *err)
{
	struct ubp_record_options options;

	wire_get_struct(&v->in, &options, sizeof(options));
	options.path = wire_get_text(&v->in);
	if (v->in.failed || !options.path)
		return ubp_fail(err, EINVAL, "no file to record to");
	serve_take_folder(v, 0);
	return ubp_record(v->session, &options, err);
}

int64_t serve_record_next(struct served *v, struct ubp_err *err)
{
	serve_take_folder(v, 0);
	return ubp_record_next(v->session, err);
}

int64_t serve_record_end(struct served *v, struct ubp_err *err)
{
	return ubp_record_end(v->session, err);
}
