/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Counts in place of events: what hits have in common, counted by key. Where a probe records without a stop it is counted in the
 * target, else when its records are taken; the counts are the same.
 */

#ifndef UBP_TALLY_H
#define UBP_TALLY_H

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define UBP_TALLY_KEYS   3
#define UBP_TALLY_VALUES 3

enum ubp_tally_kind {
	UBP_TALLY_NUMBER,
	UBP_TALLY_SIGNED, /* .number is to be seen as int64_t */
	UBP_TALLY_STRING,
	UBP_TALLY_PROBE, /* .number is a probe's index */
	UBP_TALLY_LOG2, /* .number: the smallest e with 2^e >= value; of 0 and 1: 0, of negative values: 64 */
	UBP_TALLY_BUCKETS, /* .number: value / width, of the value as uint64_t */
	UBP_TALLY_STACK, /* .text: functions, the outermost first, with ';' between them; NULL: memory was short */
};

struct ubp_tally_part {
	enum ubp_tally_kind kind;
	uint64_t number;
	uint64_t width;   /* of UBP_TALLY_BUCKETS */
	bool is_signed;   /* of UBP_TALLY_LOG2 and _BUCKETS: the values may be negative */
	const char *text; /* of UBP_TALLY_STRING, _STACK */
	const char *name; /* as the text has it */
};

/* One entry. */
struct ubp_tally_row {
	unsigned n_keys, n_values;
	struct ubp_tally_part keys[UBP_TALLY_KEYS];
	uint64_t hits;
	struct ubp_tally_part values[UBP_TALLY_VALUES];
};

/* What was counted so far. Belongs to the session, until the next call of ubp_tally_take() or ubp_dispatch(). */
struct ubp_tally;

/*
 * All probes that were added count by @text, a part of the kernel's hist triggers, and their hits are no events; before ubp_start(). The text:
 *
 *   hist:keys=KEY[,KEY[,KEY]][:vals=VAL[,VAL[,VAL[,VAL]]]][:size=N]
 *
 * KEY: an arg, with .log2 or .buckets=N behind it perhaps, common_cpu, common_pid (the thread); beyond the kernel's: pid, tid, comm, event, function
 * (that the probe is in), stack or ustack (the user stack, which ubp_options.stack must ask for), argN (the Nth arg, whatever its name). VAL: hitcount, an arg (the sum), ARG.min, ARG.max. Errors: -EINVAL, -EBUSY, -ENOMEM.
 */
int ubp_tally(struct ubp_session *session, const char *text, struct ubp_err *err);

/* What counts by now has its hits as events, too, none of which is lost; before ubp_start(). Errors: -EINVAL, -EBUSY. */
int ubp_tally_events(struct ubp_session *session, struct ubp_err *err);

/* What there is by now, all of which was dispatched included; after ubp_stop(), too. NULL: out of memory, or nothing counts. */
const struct ubp_tally *ubp_tally_take(struct ubp_session *session);
size_t ubp_tally_n(const struct ubp_tally *tally);
uint64_t ubp_tally_hits(const struct ubp_tally *tally);
/* Hits for whose key there was no room (.size). */
uint64_t ubp_tally_dropped(const struct ubp_tally *tally);
/* Entry @i, in no order that means something. */
void ubp_tally_row(const struct ubp_tally *tally, size_t i, struct ubp_tally_row *ret_row);

/* Of a key that is UBP_TALLY_LOG2 or _BUCKETS: the values from that one to that one, to be seen as int64_t if it .is_signed. */
uint64_t ubp_tally_first(const struct ubp_tally_part *part);
uint64_t ubp_tally_last(const struct ubp_tally_part *part);
/* A row as a JSON object (COUNTING in uprobe(1)) and a newline. Belongs to the session, until its next text. NULL: out of memory. */
const char *ubp_tally_json(struct ubp_session *session, const struct ubp_tally_row *row,
			   size_t *ret_len);

/* How probe @i's hits will be counted, as far as files and its plan tell. Valid until the next call; NULL: they are not. */
const char *ubp_tally_explain(struct ubp_session *session, size_t i);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
