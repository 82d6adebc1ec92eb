/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_trigger.h. In a callback triggers cannot be changed, since they are being carried out. */

#include "engine/ubp_trigger.h"
#include "tests/tool/calls/calls.h"

#define S target.session

static void is_change(int64_t rc)
{
	if (target.is_callback)
		is_refused(rc);
	else
		(void)is_well(rc);
}

static void is_change_code(int64_t rc)
{
	is_code(rc);
	if (target.is_callback && rc >= 0)
		fail("it is not refused in a callback", rc);
}

static const char *a_trigger(void)
{
	static const char *const triggers[] = {
		"hist:keys=common_pid",
		"hist:keys=n:vals=hitcount:sort=hitcount.descending",
		"hist:keys=name.log2",
		"hist:keys=n.log2:size=128",
		"!hist:keys=common_pid",
		"hist:keys=common_pid:pause",
		"hist:keys=common_pid:clear",
		"hist:keys=stacktrace",
		"hist:keys=n:t=common_timestamp",
		"hist:keys=n:d=common_timestamp-$t:onmatch(mine.other).made(n,$d)",
		"stacktrace",
		"stacktrace:5",
		"!stacktrace",
		"traceoff:3",
		"traceon",
		"!traceoff",
		"snapshot",
		"snapshot:2",
		"!snapshot",
		"enable_event:mine:other",
		"disable_event:mine:other:2",
		"hist:keys=n:name=shared",
		"hist:keys=common_pid if n > 3",
		"hist:keys=n:onmax($d).snapshot()",
		"hist:",
		"nonsense",
		"!nonsense",
	};

	return A_TEXT(triggers);
}

CALL(ubp_trigger_write)
{
	is_change(ubp_trigger_write(S, an_event(), a_trigger(), &here.err));
}

CALL(ubp_trigger_clear)
{
	is_change(ubp_trigger_clear(S, an_event(), &here.err));
}

CALL(ubp_trigger_filter)
{
	is_change(ubp_trigger_filter(S, an_event(), a_filter(), &here.err));
}

CALL(ubp_trigger_record)
{
	is_change(ubp_trigger_record(S, an_event(), any(2), &here.err));
}

CALL(ubp_trigger_settle)
{
	if (seldom(4))
		is_change(ubp_trigger_settle(S, &here.err));
}

CALL(ubp_synthetic_add)
{
	static const char *const texts[] = { "made u64 n; u64 d",
					     "made u64 n",
					     "other char name[]",
					     "!made",
					     "!other",
					     "made",
					     "made int" };

	is_change(ubp_synthetic_add(S, A_TEXT(texts), &here.err));
}

CALL(ubp_synthetic_clear)
{
	is_change(ubp_synthetic_clear(S, &here.err));
}

CALL(ubp_trigger_probe)
{
	static const char *const groups[] = { "mine", "uprobes", "theirs" };

	is_change(ubp_trigger_probe(S, a_number(), A_TEXT(groups), &here.err));
}

static const char *a_trace(void)
{
	static const char *const traces[] = { "", "one", "two" };

	return A_TEXT(traces);
}

CALL(ubp_trigger_trace)
{
	is_change(ubp_trigger_trace(S, a_trace(), &here.err));
}

CALL(ubp_trigger_trace_end)
{
	ubp_trigger_trace_end(S, a_trace());
}

CALL(ubp_trigger_set_tracing)
{
	is_change_code(ubp_trigger_set_tracing(S, any(4) != 0));
}

CALL(ubp_trigger_snapshot_after)
{
	is_change_code(ubp_trigger_snapshot_after(S, a_word()));
}

static void on_snapshot(void *ctx)
{
	if (ctx != &target)
		fail("a snapshot of others", 0);
}

CALL(ubp_trigger_on_snapshot)
{
	is_change_code(ubp_trigger_on_snapshot(S, seldom(4) ? NULL : on_snapshot, &target));
}

CALL(ubp_trigger_is_tracing)
{
	(void)ubp_trigger_is_tracing(S);
}

static void on_error(void *ctx, const char *where, const struct ubp_err *err)
{
	(void)ctx;
	look_at_text(where);
	if (!err->text[0] || !err->code)
		fail("an error without a text", err->code);
}

CALL(ubp_trigger_errors)
{
	ubp_trigger_errors(S, seldom(10) ? NULL : on_error, NULL);
}

CALL(ubp_trigger_explain)
{
	look_at_text(ubp_trigger_explain(S, a_number()));
}

CALL(ubp_trigger_state)
{
	look_at_text(ubp_trigger_state(S, an_event()));
}

static void on_row(void *ctx, const struct ubp_trigger_hist *hist,
		   const struct ubp_tally_row *row)
{
	(void)ctx;
	look_at_text(hist->name);
	for (unsigned i = 0; row && i < row->n_keys; i++) {
		look_at_text(row->keys[i].name);
		look_at_text(row->keys[i].text);
	}
}

CALL(ubp_trigger_hist_rows)
{
	is_code(ubp_trigger_hist_rows(S, an_event(), seldom(10) ? NULL : on_row, NULL));
}

/* What is told of an event as text. */
#define TEXT_OF(name)                                                                          \
	CALL(name)                                                                             \
	{                                                                                      \
		size_t len = 0;                                                                \
		bool counts = any(4);                                                          \
		const char *text = name(S, an_event(), counts ? &len : NULL);                  \
                                                                                               \
		if (text)                                                                      \
			look_at(text, len);                                                    \
	}
TEXT_OF(ubp_trigger_list)
TEXT_OF(ubp_trigger_hist)
TEXT_OF(ubp_trigger_hist_json)
TEXT_OF(ubp_synthetic_format)

CALL(ubp_synthetic_list)
{
	size_t len = 0;
	const char *text = ubp_synthetic_list(S, any(4) ? &len : NULL);

	if (text)
		look_at(text, len);
}
