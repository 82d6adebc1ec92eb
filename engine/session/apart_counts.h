/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A session whose engine is apart (apart.h): triggers, counts and recordings, which the engine has. The functions of ubp_trigger.h, ubp_tally.h, ubp_heap.h
 * and ubp_record.h that have these names without apart_, but for the first two, which are several of them.
 */

#ifndef UBP_SESSION_APART_COUNTS_H
#define UBP_SESSION_APART_COUNTS_H

#include "engine/apart/protocol.h"
#include "engine/ubp_heap.h"
#include "engine/ubp_record.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

/* What this is not about is NULL or 0. */
int apart_trigger(struct ubp_session *s, enum apart_trigger what, const char *event,
		  const char *text, uint64_t number, struct ubp_err *err);
/* Not for APART_TRIGGER_STATE. @ret_len may be NULL. */
const char *apart_trigger_text(struct ubp_session *s, enum apart_trigger_text what,
			       const char *event, size_t *ret_len);
const char *apart_trigger_state(struct ubp_session *s, const char *event);
int apart_on_snapshot(struct ubp_session *s, ubp_trigger_snapshot_fn *fn, void *ctx);
bool apart_is_tracing(const struct ubp_session *s);
/* apart_traces.c: ubp_trigger_trace(), ubp_trigger_trace_end() */
int apart_trace_choose(struct ubp_session *s, const char *name, struct ubp_err *err);
void apart_trace_end(struct ubp_session *s, const char *name);
/* ubp_trigger_hist_rows() */
int apart_trigger_rows(struct ubp_session *s, const char *event, ubp_trigger_row_fn *fn,
		       void *ctx);
void apart_trigger_errors(const struct ubp_session *s, ubp_trigger_error_fn *fn, void *ctx);

int apart_tally(struct ubp_session *s, const char *text, struct ubp_err *err);
int apart_tally_events(struct ubp_session *s, struct ubp_err *err);
/* Its .copy is set. */
const struct ubp_tally *apart_tally_take(struct ubp_session *s);

/* ubp_heap_allocates(), ubp_heap_frees() */
int apart_heap(struct ubp_session *s, size_t i, bool is_free, const char *text,
	       struct ubp_err *err);
size_t apart_heap_n(const struct ubp_session *s);
void apart_heap_row(const struct ubp_session *s, size_t i, struct ubp_heap_row *ret_row);
bool apart_heap_is_short(const struct ubp_session *s);

int apart_record(struct ubp_session *s, const struct ubp_record_options *options,
		 struct ubp_err *err);
int apart_record_next(struct ubp_session *s, struct ubp_err *err);
int apart_record_end(struct ubp_session *s, struct ubp_err *err);
uint64_t apart_record_count(const struct ubp_session *s, uint64_t *ret_bytes);
bool apart_record_is_full(const struct ubp_session *s);

#endif
