/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_tally.h, ubp_heap.h and ubp_meter.h. */

#include "engine/ubp_heap.h"
#include "engine/ubp_meter.h"
#include "engine/ubp_tally.h"
#include "tests/tool/calls/calls.h"

#define S target.session

static struct ubp_meter *meter;

void counts_forget(void)
{
	ubp_meter_free(meter);
	meter = NULL;
}

/* --- tallies ---------------------------------------------------------------------------------------- */

CALL(ubp_tally)
{
	static const char *const texts[] = {
		"hist:keys=n",
		"hist:keys=n.log2:vals=hitcount",
		"hist:keys=common_pid,event",
		"hist:keys=name",
		"hist:keys=arg1.buckets=10:size=64",
		"hist:keys=stack",
		"hist:keys=comm,pid,tid",
		"hist:keys=function:vals=n.max",
		"hist:keys=n,n,n,n",
		"hist:keys=",
		"hist",
	};

	(void)is_well(ubp_tally(S, A_TEXT(texts), &here.err));
}

CALL(ubp_tally_events)
{
	(void)is_well(ubp_tally_events(S, &here.err));
}

CALL(ubp_tally_explain)
{
	look_at_text(ubp_tally_explain(S, a_number()));
}

/* What was taken is good until more is: so each call takes its own. NULL: nothing counts. */
static const struct ubp_tally *a_tally(void)
{
	return ubp_tally_take(S);
}

static bool a_row(struct ubp_tally_row *ret_row)
{
	const struct ubp_tally *t = a_tally();
	size_t n = t ? ubp_tally_n(t) : 0;

	if (!n)
		return false;
	ubp_tally_row(t, any((unsigned)n), ret_row);
	return true;
}

CALL(ubp_tally_take)
{
	(void)a_tally();
}

#define NUMBER_OF(name)                                                                        \
	CALL(name)                                                                             \
	{                                                                                      \
		const struct ubp_tally *t = a_tally();                                         \
                                                                                               \
		if (t)                                                                         \
			(void)name(t);                                                         \
	}
NUMBER_OF(ubp_tally_dropped)
NUMBER_OF(ubp_tally_hits)
NUMBER_OF(ubp_tally_n)

CALL(ubp_tally_row)
{
	struct ubp_tally_row row;

	if (!a_row(&row))
		return;
	for (unsigned i = 0; i < row.n_keys; i++) {
		look_at_text(row.keys[i].name);
		look_at_text(row.keys[i].text);
	}
}

/* Of anything, since a caller may have copied or made it. */
static struct ubp_tally_part a_part(void)
{
	struct ubp_tally_part part = { .kind = (enum ubp_tally_kind)any(UBP_TALLY_STACK + 2),
				       .number = a_word(),
				       .width = a_word(),
				       .is_signed = any(2) };
	struct ubp_tally_row row;

	return any(2) && a_row(&row) ? row.keys[0] : part;
}

CALL(ubp_tally_first)
{
	struct ubp_tally_part part = a_part();

	(void)ubp_tally_first(&part);
}

CALL(ubp_tally_last)
{
	struct ubp_tally_part part = a_part();

	(void)ubp_tally_last(&part);
}

CALL(ubp_tally_json)
{
	struct ubp_tally_row row;
	const char *text;
	size_t len;

	if (!a_row(&row))
		return;
	text = ubp_tally_json(S, &row, &len);
	if (text)
		look_at(text, len);
}

/* --- the heap ----------------------------------------------------------------------------------------- */

static const char *an_arg(void)
{
	static const char *const args[] = { "n",  "n:n", "name",    "n:name",
					    "n:", ":n",  "no_such", "n:no_such" };

	return A_TEXT(args);
}

CALL(ubp_heap_allocates)
{
	(void)is_well(ubp_heap_allocates(S, a_number(), an_arg(), &here.err));
}

CALL(ubp_heap_frees)
{
	(void)is_well(ubp_heap_frees(S, a_number(), an_arg(), &here.err));
}

CALL(ubp_heap_is_short)
{
	(void)ubp_heap_is_short(S);
}

CALL(ubp_heap_n)
{
	(void)ubp_heap_n(S);
}

static bool a_heap_row(struct ubp_heap_row *ret_row)
{
	size_t n = ubp_heap_n(S);

	if (n)
		ubp_heap_row(S, any((unsigned)n), ret_row);
	return n > 0;
}

CALL(ubp_heap_row)
{
	struct ubp_heap_row row;

	if (a_heap_row(&row))
		look_at_text(row.stack);
}

CALL(ubp_heap_json)
{
	struct ubp_heap_row row;
	const char *text;
	size_t len;

	if (!a_heap_row(&row))
		return;
	text = ubp_heap_json(S, &row, &len);
	if (text)
		look_at(text, len);
}

/* --- meters ---------------------------------------------------------------------------------------------- */

CALL(ubp_meter_new)
{
	if (!meter)
		(void)is_well(ubp_meter_new(S, &meter, &here.err));
}

CALL(ubp_meter_free)
{
	if (seldom(4))
		counts_forget();
	ubp_meter_free(NULL);
}

CALL(ubp_meter_event)
{
	if (meter && here.event)
		ubp_meter_event(meter, here.event);
}

CALL(ubp_meter_lost)
{
	if (meter)
		(void)ubp_meter_lost(meter);
}

CALL(ubp_meter_n)
{
	if (meter)
		(void)ubp_meter_n(meter);
}

CALL(ubp_meter_row)
{
	struct ubp_meter_row row;
	size_t n = meter ? ubp_meter_n(meter) : 0;

	if (!n)
		return;
	ubp_meter_row(meter, any((unsigned)n), &row);
	look_at_text(row.name);
	if (row.calls > row.hits)
		fail("more calls than hits", (int64_t)row.calls);
}
