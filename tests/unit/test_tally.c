/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is counted, by key: texts of plans, good and bad; entries of records and of tables; what has no room. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/event/ring_tally.h"
#include "engine/event/ring_time.h"
#include "engine/tally/tally.h"
#include "engine/tally/text.h"
#include "tests/unit/probe_make.h"

static const char args[] = "a=%di:s32 b=%si:u64 s=+0(%di):string f=%di:f64 v=+0(%di):u8[4]";

static int bind(const char *text, struct tally_plan *plan, struct ubp_err *err)
{
	struct tally_text parsed;
	struct probe_make make;
	int rc;

	ubp_err_reset(err);
	probe_make(&make, false, args);
	rc = tally_text_parse(text, &parsed, err);
	return rc < 0 ? rc : tally_text_bind(&parsed, &make.probe, plan, err);
}

static void takes_texts(void **state)
{
	struct tally_plan plan;
	struct ubp_err err;

	(void)state;
	assert_int_equal(
		bind("hist:keys=a.log2,comm,arg3:vals=hitcount,b,a.min,a.max", &plan, &err), 0);
	assert_int_equal(plan.n_keys, 3);
	assert_int_equal(plan.keys[0].scale, TALLY_LOG2);
	assert_true(plan.keys[0].field.is_signed);
	assert_int_equal(plan.keys[1].source, TALLY_COMM);
	assert_int_equal(plan.keys[2].source, TALLY_STRING);
	assert_int_equal(plan.n_values, 3);
	assert_int_equal(plan.values[0].kind, TALLY_SUM);
	assert_int_equal(plan.values[1].kind, TALLY_MIN);
	assert_int_equal(plan.values[2].kind, TALLY_MAX);
	assert_int_equal(bind("hist:keys=function,stack", &plan, &err), 0);
	assert_int_equal(plan.keys[0].source, TALLY_FUNCTION);
	assert_int_equal(plan.keys[1].source, TALLY_STACK);
	assert_int_equal(bind("hist:keys=ustack,function", &plan, &err), 0);
	assert_int_equal(plan.keys[0].source, TALLY_STACK);
	assert_true(tally_has_stack(&plan));
	assert_int_equal(bind("hist:keys=%si.buckets=0x10", &plan, &err), 0);
	assert_int_equal(plan.keys[0].bucket, 16);
}

static void refuses_texts(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "keys=a", "'keys=a' does not begin with hist:" },
		{ "hist:vals=a", "keys= is missing" },
		{ "hist:keys=", "'' is no name of an argument" },
		{ "hist:keys=a,a,a,a", "more than 3 keys" },
		{ "hist:keys=a:vals=a,a,a,a", "more than 3 values" },
		{ "hist:keys=a.log3",
		  "'a.log3': behind a key there may be .log2 or .buckets=N" },
		{ "hist:keys=a.buckets=0",
		  "'a.buckets=0': behind a key there may be .log2 or .buckets=N" },
		{ "hist:keys=a.buckets",
		  "'a.buckets': behind a key there may be .log2 or .buckets=N" },
		{ "hist:keys=a:vals=b.sum",
		  "'b.sum': behind a value there may be .min or .max" },
		{ "hist:keys=a:top=3", "'top': not keys=, vals= or size=" },
		{ "hist:keys=none", "event evt has no argument 'none'" },
		{ "hist:keys=arg9", "event evt has no argument 'arg9'" },
		{ "hist:keys=f", "argument 'f' cannot be counted by: it is no whole number" },
		{ "hist:keys=v", "argument 'v' cannot be counted by: it is an array" },
		{ "hist:keys=s.log2", "'s' is a string" },
		{ "hist:keys=stack,ustack", "'ustack': one key is the stack already" },
		{ "hist:keys=comm.log2", "'comm' is no argument: it has no ranges of values" },
		{ "hist:keys=a:vals=s", "argument 's' is not one whole number" },
	};
	struct tally_plan plan;
	struct ubp_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(bind(bad[i].text, &plan, &err) < 0);
		assert_string_equal(err.text, bad[i].says);
	}
}

/* --- entries ------------------------------------------------------------------------- */

static struct event_record *record_of(int32_t a, uint64_t b, const char *s, size_t len)
{
	static union {
		struct event_record record;
		uint8_t bytes[sizeof(struct event_record) + 1024];
	} u;
	struct event_record *r = &u.record;
	uint32_t word = s ? (uint32_t)len << 16 | 40 : 0;

	memset(&u, 0, sizeof(u));
	r->tid = 7;
	strcpy(r->comm, "rat");
	memcpy(r->data, &a, 4);
	memcpy(r->data + 4, &b, 8);
	memcpy(r->data + 12, &word, 4);
	if (s)
		memcpy(r->data + 40, s, len);
	r->data_len = 40 + (uint32_t)len;
	return r;
}

static void counts_records(void **state)
{
	char longest[300];
	struct tally_plan plan;
	struct tally_row row;
	struct tally *tally;
	struct ubp_err err;

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[299] = '\0';
	assert_int_equal(bind("hist:keys=s,a:vals=b,a.min,a.max", &plan, &err), 0);
	tally = tally_new(&plan, 4);
	assert_non_null(tally);
	tally_record(tally, &plan, record_of(-3, 10, "abc", 4));
	tally_record(tally, &plan, record_of(-3, 32, "abc", 4));
	tally_record(tally, &plan, record_of(4, 1, "abc", 4));
	/* Not read, and the longest: 255 bytes of it count. */
	tally_record(tally, &plan, record_of(4, 1, NULL, 0));
	tally_record(tally, &plan, record_of(4, 1, longest, 300));
	longest[280] = 'y';
	tally_record(tally, &plan, record_of(4, 1, longest, 300));
	/* No room: the fifth key. */
	tally_record(tally, &plan, record_of(5, 1, "abc", 4));
	assert_int_equal(tally_n(tally), 4);
	assert_int_equal(tally_hits(tally), 6);
	assert_int_equal(tally_dropped(tally), 1);
	tally_row(tally, 0, &row);
	assert_string_equal(row.keys[0].text, "abc");
	assert_int_equal((int64_t)row.keys[1].number, -3);
	assert_int_equal(row.hits, 2);
	assert_int_equal(row.values[0], 42);
	assert_int_equal((int64_t)row.values[1], -3);
	assert_int_equal((int64_t)row.values[2], -3);
	tally_row(tally, 2, &row);
	assert_string_equal(row.keys[0].text, "");
	tally_row(tally, 3, &row);
	assert_int_equal(strlen(row.keys[0].text), 255);
	assert_int_equal(row.hits, 2);
	tally_free(tally);
}

/* Of one key: what was recorded, and what two threads have in their tables. */
static void adds_up(void **state)
{
	uint64_t words[64] = { 0 };
	struct ring_count count = { .tid = 9, .comm = "rat", .hits = 5, .words = words };
	struct tally *tally, *all;
	struct tally_plan plan;
	struct tally_row row;
	struct ubp_err err;

	(void)state;
	assert_int_equal(bind("hist:keys=s,comm:vals=a.max", &plan, &err), 0);
	tally = tally_new(&plan, 0);
	all = tally_new(&plan, 0);
	assert_true(tally && all);
	tally_record(tally, &plan, record_of(-8, 0, "a text of sixteen", 18));
	memcpy(words + 1, "a text of sixteen", 18);
	words[6] = tally_turned(&plan.values[0], (uint64_t)-3LL);
	tally_count(tally, &plan, &count);
	words[6] = tally_turned(&plan.values[0], (uint64_t)-12LL);
	tally_count(tally, &plan, &count);
	assert_int_equal(tally_n(tally), 1);
	tally_merge(all, tally);
	tally_merge(all, tally);
	tally_row(all, 0, &row);
	assert_int_equal(row.hits, 22);
	assert_int_equal((int64_t)row.values[0], -3);
	assert_string_equal(row.keys[1].text, "rat");
	tally_free(tally);
	tally_free(all);
}

/* Which entry came first is known where the clock has one nanosecond for both. */
static void tells_which_was_first(void **state)
{
	static struct ring_time time = { .n = 1,
					 .samples = { { 1000, 500 } },
					 .ns_per_tick = 0.25 };
	uint64_t words[64] = { 0 };
	struct ring_count count = { .comm = "rat", .hits = 1, .words = words, .time = &time };
	struct tally_row early, late;
	struct tally_plan plan;
	struct tally *tally;
	struct ubp_err err;

	(void)state;
	assert_int_equal(bind("hist:keys=a", &plan, &err), 0);
	plan.has_first = true;
	tally = tally_new(&plan, 0);
	assert_non_null(tally);
	for (uint64_t i = 0; i < 2; i++) {
		words[1] = i;
		words[2] = 2002 - i;
		tally_count(tally, &plan, &count);
	}
	tally_row(tally, 0, &late);
	tally_row(tally, 1, &early);
	assert_int_equal(early.first, 750);
	assert_int_equal(late.first, 750);
	assert_true(early.first_ticks < late.first_ticks);
	tally_free(tally);
}

static void scales(void **state)
{
	const struct tally_key log2 = { .scale = TALLY_LOG2 };
	const struct tally_key steps = { .scale = TALLY_BUCKETS, .bucket = 7 };

	(void)state;
	for (uint64_t e = 1; e < 64; e++) {
		assert_int_equal(tally_scaled(&log2, 1ULL << e), e);
		assert_int_equal(tally_scaled(&log2, (1ULL << e) + 1), e + 1);
	}
	assert_int_equal(tally_scaled(&log2, 0), 0);
	assert_int_equal(tally_scaled(&log2, 1), 0);
	assert_int_equal(tally_scaled(&log2, UINT64_MAX), 64);
	assert_int_equal(tally_scaled(&steps, UINT64_MAX), UINT64_MAX / 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_texts),    cmocka_unit_test(refuses_texts),
		cmocka_unit_test(counts_records), cmocka_unit_test(adds_up),
		cmocka_unit_test(scales),         cmocka_unit_test(tells_which_was_first),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
