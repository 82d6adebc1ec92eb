/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: triggers, counts and recordings. */

#include "engine/session/apart_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/apart/err_wire.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/session/apart_priv.h"
#include "engine/session/rows_wire.h"
#include "engine/session/tally_taken.h"

/* A request that takes a number, or none, and a text, or none. */
static int ask(struct ubp_session *s, enum apart_op op, const uint64_t *numbers, unsigned n,
	       const char *text, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, op, err);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < n; i++)
		wire_put(&s->tracing.apart->line.out, numbers[i]);
	wire_put_text(&s->tracing.apart->line.out, text);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

/* As much of an answer as was not read yet: to be read when others may ask, and freed. */
static struct wire keep_answer(struct apart *a)
{
	struct wire answer = a->line.in;

	a->line.in = (struct wire){ 0 };
	return answer;
}

/* --- triggers ---------------------------------------------------------------------------------- */

int apart_trigger(struct ubp_session *s, enum apart_trigger what, const char *event,
		  const char *text, uint64_t number, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_TRIGGER, err);

	if (rc < 0)
		return rc;
	wire_put(&s->tracing.apart->line.out, what);
	wire_put_text(&s->tracing.apart->line.out, event);
	wire_put_text(&s->tracing.apart->line.out, text);
	wire_put(&s->tracing.apart->line.out, number);
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

static char *ask_text(struct ubp_session *s, enum apart_trigger_text what, const char *event,
		      size_t *ret_len)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;
	const char *bytes;
	char *text = NULL;

	*ret_len = 0;
	if (apart_begin(&r, s, APART_TRIGGER_TEXT, NULL) < 0)
		return NULL;
	wire_put(&a->line.out, what);
	wire_put_text(&a->line.out, event);
	if (apart_ask(&r, NULL, NULL) >= 0) {
		bytes = wire_get_bytes(&a->line.in, ret_len);
		text = bytes ? malloc(*ret_len + 1) : NULL;
		if (text) {
			memcpy(text, bytes, *ret_len);
			text[*ret_len] = '\0';
		}
	}
	apart_end(&r);
	return text;
}

const char *apart_trigger_text(struct ubp_session *s, enum apart_trigger_text what,
			       const char *event, size_t *ret_len)
{
	struct apart_counts *c = &s->tracing.apart->counts;
	size_t len;

	free(c->trigger_text);
	c->trigger_text = ask_text(s, what, event, &len);
	if (ret_len && c->trigger_text)
		*ret_len = len;
	return c->trigger_text;
}

const char *apart_trigger_state(struct ubp_session *s, const char *event)
{
	struct apart *a = s->tracing.apart;
	const char *kept;
	size_t len;
	char *state = ask_text(s, APART_TRIGGER_STATE, event, &len);

	kept = apart_keep_text(a, state);
	free(state);
	return kept;
}

bool apart_is_tracing(const struct ubp_session *s)
{
	return __atomic_load_n(&s->tracing.apart->state->is_tracing, __ATOMIC_ACQUIRE);
}

static void give_rows(struct wire *in, ubp_trigger_row_fn *fn, void *ctx)
{
	struct ubp_trigger_hist hist = { 0 };
	struct ubp_tally_row row;
	uint64_t what;

	while ((what = wire_get(in))) {
		if (what == 1) {
			hist.number = (unsigned)wire_get(in);
			hist.n = (unsigned)wire_get(in);
			hist.dropped = wire_get(in);
			hist.name = wire_get_text(in);
		} else {
			rows_get(in, &row);
		}
		if (in->failed)
			return;
		fn(ctx, &hist, what == 1 ? NULL : &row);
	}
}

int apart_trigger_rows(struct ubp_session *s, const char *event, ubp_trigger_row_fn *fn,
		       void *ctx)
{
	struct apart *a = s->tracing.apart;
	struct wire answer = { 0 };
	struct apart_request r;
	int rc = apart_begin(&r, s, APART_TRIGGER_ROWS, NULL);

	if (rc < 0)
		return rc;
	wire_put_text(&a->line.out, event);
	rc = (int)apart_ask(&r, NULL, NULL);
	if (rc != -EPIPE)
		answer = keep_answer(a);
	apart_end(&r);
	give_rows(&answer, fn, ctx);
	wire_free(&answer);
	return rc;
}

void apart_trigger_errors(const struct ubp_session *s, ubp_trigger_error_fn *fn, void *ctx)
{
	struct apart *a = s->tracing.apart;
	struct wire answer = { 0 };
	struct apart_request r;
	struct ubp_err wrong;
	const char *where;

	if (apart_begin(&r, s, APART_TRIGGER_ERRORS, NULL) < 0)
		return;
	if (apart_ask(&r, NULL, NULL) >= 0)
		answer = keep_answer(a);
	apart_end(&r);
	while (wire_get(&answer)) {
		where = wire_get_text(&answer);
		err_wire_get(&answer, &wrong);
		if (answer.failed || !where)
			break;
		fn(ctx, where, &wrong);
	}
	wire_free(&answer);
}

/* --- counts ------------------------------------------------------------------------------------ */

int apart_tally(struct ubp_session *s, const char *text, struct ubp_err *err)
{
	return ask(s, APART_TALLY, NULL, 0, text, err);
}

int apart_tally_events(struct ubp_session *s, struct ubp_err *err)
{
	return ask(s, APART_TALLY_EVENTS, NULL, 0, NULL, err);
}

static void forget_tally(struct apart_counts *c)
{
	if (!c->tally)
		return;
	wire_free(&c->tally->copy->message);
	free(c->tally->copy->rows);
	free(c->tally->copy);
	free(c->tally);
	c->tally = NULL;
}

static struct ubp_tally *new_tally(void)
{
	struct ubp_tally *tally = calloc(1, sizeof(*tally));

	if (tally)
		tally->copy = calloc(1, sizeof(*tally->copy));
	if (tally && !tally->copy) {
		free(tally);
		return NULL;
	}
	return tally;
}

/* Of the message. False: memory is short, or it is none. */
static bool read_tally(struct tally_copy *copy)
{
	struct wire *in = &copy->message;

	copy->hits = wire_get(in);
	copy->dropped = wire_get(in);
	copy->n = wire_get(in);
	/* Each takes its hits and two counts, at least. */
	if (in->failed || copy->n > (in->len - in->at) / (3 * sizeof(uint64_t)))
		return false;
	copy->rows = calloc(copy->n + 1, sizeof(*copy->rows));
	for (size_t i = 0; copy->rows && i < copy->n; i++)
		rows_get(in, &copy->rows[i]);
	return copy->rows && !in->failed;
}

const struct ubp_tally *apart_tally_take(struct ubp_session *s)
{
	struct apart *a = s->tracing.apart;
	struct apart_counts *c = &a->counts;
	struct apart_request r;
	bool is_there = false;

	forget_tally(c);
	c->tally = new_tally();
	if (!c->tally || apart_begin(&r, s, APART_TALLY_TAKE, NULL) < 0)
		return NULL;
	if (apart_ask(&r, NULL, NULL) >= 0) {
		c->tally->copy->message = keep_answer(a);
		is_there = read_tally(c->tally->copy);
	}
	apart_end(&r);
	return is_there ? c->tally : NULL;
}

int apart_heap(struct ubp_session *s, size_t i, bool is_free, const char *text,
	       struct ubp_err *err)
{
	s->tracing.apart->counts.heap_is_known = false;
	return ask(s, APART_HEAP, (uint64_t[]){ i, is_free }, 2, text, err);
}

/* False: memory is short, or the message is none. */
static bool read_heap(struct apart_counts *c, struct wire *in)
{
	size_t n;

	c->heap_is_short = wire_get(in);
	n = wire_get(in);
	for (size_t i = 0; i < n && !in->failed; i++) {
		struct ubp_heap_row *row;
		const char *stack;

		if (i == c->n_heap && VEC_ROOM(c->heap, &c->cap_heap, c->n_heap) < 0)
			return false;
		row = &c->heap[i];
		row->live = wire_get(in);
		row->allocated = wire_get(in);
		row->n_live = wire_get(in);
		row->n_allocated = wire_get(in);
		if (i < c->n_heap)
			continue;
		stack = wire_get_text(in);
		row->stack = strdup(stack ? stack : "");
		if (!row->stack)
			return false;
		c->n_heap++;
	}
	return !in->failed;
}

/* Nothing is asked for as long as nothing is dispatched. */
static void look_at_heap(const struct ubp_session *s)
{
	struct apart *a = s->tracing.apart;
	struct apart_request r;

	if (a->counts.heap_is_known || apart_begin(&r, s, APART_HEAP_TAKE, NULL) < 0)
		return;
	wire_put(&a->line.out, a->counts.n_heap);
	if (apart_ask(&r, NULL, NULL) >= 0) {
		a->counts.heap_is_known = read_heap(&a->counts, &a->line.in);
		a->counts.heap_is_short |= !a->counts.heap_is_known;
	}
	apart_end(&r);
}

size_t apart_heap_n(const struct ubp_session *s)
{
	look_at_heap(s);
	return s->tracing.apart->counts.n_heap;
}

void apart_heap_row(const struct ubp_session *s, size_t i, struct ubp_heap_row *ret_row)
{
	const struct apart_counts *c = &s->tracing.apart->counts;

	look_at_heap(s);
	*ret_row = i < c->n_heap ? c->heap[i] : (struct ubp_heap_row){ .stack = "" };
}

bool apart_heap_is_short(const struct ubp_session *s)
{
	look_at_heap(s);
	return s->tracing.apart->counts.heap_is_short;
}

void apart_counts_free(struct apart *a)
{
	struct apart_counts *c = &a->counts;

	free(c->trigger_text);
	apart_traces_free(&c->traces);
	forget_tally(c);
	while (c->n_heap)
		free((char *)c->heap[--c->n_heap].stack);
	free(c->heap);
}

/* --- recordings -------------------------------------------------------------------------------- */

/* The engine writes the file, whose path is relative to the folder that the host is in. */
static int ask_in_folder(struct ubp_session *s, enum apart_op op,
			 const struct ubp_record_options *options, struct ubp_err *err)
{
	struct apart_request r;
	int rc = apart_begin(&r, s, op, err);

	if (rc < 0)
		return rc;
	apart_add_folder(&r);
	if (options) {
		wire_put_bytes(&s->tracing.apart->line.out, options, sizeof(*options));
		wire_put_text(&s->tracing.apart->line.out, options->path);
	}
	rc = (int)apart_ask(&r, NULL, err);
	apart_end(&r);
	return rc;
}

int apart_record(struct ubp_session *s, const struct ubp_record_options *options,
		 struct ubp_err *err)
{
	return ask_in_folder(s, APART_RECORD, options, err);
}

int apart_record_next(struct ubp_session *s, struct ubp_err *err)
{
	return ask_in_folder(s, APART_RECORD_NEXT, NULL, err);
}

int apart_record_end(struct ubp_session *s, struct ubp_err *err)
{
	return ask_in_folder(s, APART_RECORD_END, NULL, err);
}

uint64_t apart_record_count(const struct ubp_session *s, uint64_t *ret_bytes)
{
	const struct apart_state *state = s->tracing.apart->state;

	*ret_bytes = __atomic_load_n(&state->record_bytes, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&state->record_count, __ATOMIC_ACQUIRE);
}

bool apart_record_is_full(const struct ubp_session *s)
{
	return __atomic_load_n(&s->tracing.apart->state->record_is_full, __ATOMIC_ACQUIRE);
}
