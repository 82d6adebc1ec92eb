/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What pictures are drawn from: nothing is counted twice or not at all, and nothing grows without a bound. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/event/record.h"
#include "engine/picture/cube.h"
#include "engine/picture/kept.h"
#include "engine/picture/meter.h"
#include "engine/picture/names.h"
#include "engine/picture/out.h"
#include "engine/picture/page.h"
#include "engine/picture/picture.h"
#include "engine/picture/tree.h"
#include "engine/spec/spec.h"

/* --- latencies ------------------------------------------------------------------------------- */

static void latency_bins(void **state)
{
	uint16_t before = 0;

	(void)state;
	for (uint64_t ns = 0; ns < 100000; ns++) {
		uint16_t lat = cube_lat(ns);

		assert_true(lat == before || lat == before + 1);
		before = lat;
		assert_true(cube_lat_ns(lat) <= ns && ns < cube_lat_ns((uint16_t)(lat + 1)));
		/* An eighth of it, at most. */
		assert_true((ns - cube_lat_ns(lat)) * 8 <= ns);
	}
	for (unsigned bit = 3; bit < 64; bit++)
		assert_int_equal(cube_lat_ns(cube_lat(1ULL << bit)), 1ULL << bit);
	assert_true(cube_lat(UINT64_MAX) < 512);
	assert_int_equal(cube_lat(0), 1);
}

/* --- the cube ----------------------------------------------------------------------------------- */

static void check_sums(const struct cube *cube, double count, double ns)
{
	double got = (double)cube->n_dropped, got_ns = 0;

	assert_true(cube->n <= CUBE_CELLS_MAX);
	for (size_t i = 0; i < cube->n; i++) {
		got += cube->v[i].count;
		got_ns += cube->v[i].ns;
		assert_true(cube->v[i].at.t < CUBE_BINS_MAX);
	}
	assert_true(got == count);
	if (!cube->n_dropped)
		assert_true(got_ns == ns);
}

/* As many events as make it coarsen time several times, then latencies. */
static void cube_is_bounded(void **state)
{
	struct cube cube = { .width = 1, .step = 1 };
	double ns = 0;

	(void)state;
	srandom(7);
	for (unsigned i = 0; i < 600000; i++) {
		uint64_t lat = (uint64_t)random() % 1000000;

		cube_add(&cube, (uint64_t)i * 1000,
			 &(struct cube_cell){ .at = { .key = (uint16_t)(i % 20),
						      .thread = (uint16_t)(i % 7),
						      .lat = cube_lat(lat) },
					      .count = 1,
					      .ns = (double)lat });
		ns += (double)lat;
	}
	check_sums(&cube, 600000, ns);
	assert_int_equal(cube.n_dropped, 0);
	assert_true(cube.width > 1000);
	cube_free(&cube);
}

/* What cannot be told apart less is counted as dropped. */
static void cube_is_full(void **state)
{
	struct cube cube = { .width = 1, .step = 1 };

	(void)state;
	for (uint32_t i = 0; i < 300000; i++)
		cube_add(&cube, i,
			 &(struct cube_cell){ .at = { .key = (uint16_t)(i & 0xfff),
						      .thread = (uint16_t)(i >> 12) },
					      .count = 1 });
	check_sums(&cube, 300000, 0);
	assert_true(cube.n_dropped > 0 && cube.is_full);
	cube_free(&cube);
}

static void cube_takes_any_time(void **state)
{
	struct cube cube = { .width = 1, .step = 1 };
	struct cube_cell cell = { .at = { .key = 1, .lat = cube_lat(UINT64_MAX) }, .count = 1 };

	(void)state;
	cube_add(&cube, 0, &cell);
	cube_add(&cube, UINT64_MAX, &cell);
	cube_add(&cube, 5, &cell);
	check_sums(&cube, 3, 0);
	assert_int_equal(cube.n, 2);
	cube_free(&cube);
}

/* --- what is kept -------------------------------------------------------------------------------- */

static void events_in_runs(void **state)
{
	struct kept_events events = { .n = 0 };

	(void)state;
	for (unsigned i = 0; i < 1000000; i++)
		if (kept_events_wants(&events))
			assert_int_equal(
				kept_events_add(
					&events,
					&(struct kept_event){ .time = i, .text = strdup("x") }),
				0);
	assert_true(events.n <= KEPT_EVENTS_MAX && events.n >= KEPT_EVENTS_MAX / 2 - KEPT_RUN);
	assert_int_equal(events.n_all, 1000000);
	for (size_t i = 0; i < events.n; i++) {
		assert_int_equal(events.v[i].number, events.v[i].time);
		assert_int_equal(events.v[i].number / KEPT_RUN % (1U << events.every_log2), 0);
		assert_int_equal(events.v[i].number % KEPT_RUN, i % KEPT_RUN);
	}
	kept_events_free(&events);
}

/* The longest of each time stays, however many short ones come. */
static void longest_calls(void **state)
{
	struct kept_calls calls = { .n = 0 };
	unsigned n_long = 0;

	(void)state;
	for (unsigned i = 0; i < 500000; i++)
		kept_calls_add(&calls, &(struct kept_call){ .start = i,
							    .dur = i % 5000 == 0 ? 1000 : 1 });
	kept_calls_end(&calls);
	assert_true(calls.n <= KEPT_CALLS_MAX / 2 && calls.n > KEPT_CALLS_MAX / 8);
	assert_int_equal(calls.n_all, 500000);
	for (size_t i = 0; i < calls.n; i++) {
		n_long += calls.v[i].dur > 1;
		assert_true(!i || calls.v[i].start >= calls.v[i - 1].start);
	}
	assert_int_equal(n_long, 100);
	kept_calls_free(&calls);
}

/* --- names and paths ------------------------------------------------------------------------------ */

static void names_are_bounded(void **state)
{
	struct names names = { .n = 0 };
	char text[NAME_LEN_MAX + 10];
	uint32_t long_name;

	(void)state;
	assert_int_equal(names_find(&names, "a", 1), names_find(&names, "a;", 1));
	assert_int_not_equal(names_find(&names, "a", 1), names_find(&names, "b", 1));
	assert_string_equal(names_text(&names, NAMES_OTHER), "(other)");
	/* Cut before a character, not in it. */
	memset(text, 'x', sizeof(text));
	memcpy(text + NAME_LEN_MAX - 1, "\303\244", 2);
	long_name = names_find(&names, text, sizeof(text));
	assert_int_equal(strlen(names_text(&names, long_name)), NAME_LEN_MAX - 1);
	for (unsigned i = 0; i < NAMES_MAX + 1000; i++)
		(void)names_find(&names, text, (size_t)snprintf(text, sizeof(text), "%u", i));
	assert_int_equal(names.n, NAMES_MAX);
	assert_int_equal(names_find(&names, "new", 3), NAMES_OTHER);
	names_free(&names);
}

static void tree_is_bounded(void **state)
{
	struct tree tree = { .n = 0 };
	uint32_t node = 0;

	(void)state;
	for (uint32_t i = 0; i < TREE_NODES_MAX + 100; i++)
		node = tree_child(&tree, node, i);
	assert_int_equal(tree.n, TREE_NODES_MAX);
	assert_int_equal(tree.n_folded, 101);
	assert_int_equal(node, TREE_NODES_MAX - 1);
	for (size_t i = 1; i < tree.n; i++)
		assert_true(tree.v[i].parent < i);
	assert_int_equal(tree_child(&tree, 0, 0), 1);
	tree_free(&tree);
}

/* --- what is written --------------------------------------------------------------------------------- */

struct text {
	char *data;
	size_t len;
};

static void put(void *ctx, const void *bytes, size_t len)
{
	struct text *t = ctx;

	t->data = realloc(t->data, t->len + len + 1);
	assert_non_null(t->data);
	memcpy(t->data + t->len, bytes, len);
	t->len += len;
	t->data[t->len] = '\0';
}

static const char *no_args(void *ctx, const struct spec_probe *probe,
			   const struct event_record *record, size_t *ret_len)
{
	(void)ctx;
	(void)probe;
	(void)record;
	*ret_len = strlen("</script>\\");
	return "</script>\\";
}

static const char *no_stack(void *ctx, const struct event_record *record, size_t *ret_len)
{
	(void)ctx;
	(void)record;
	*ret_len = 0;
	return "";
}

static void escapes(void **state)
{
	struct text t = { .data = NULL };
	struct picture_ops ops = { .put = put, .ctx = &t };
	struct out_base64 base64 = { .n = 0 };
	struct out out;

	(void)state;
	out_begin(&out, &ops);
	out_json(&out, "a\"\\</script><!--&\n", 18);
	out_xml(&out, "<a b='\"'>&\001", 11);
	out_base64(&out, &base64, "lig", 3);
	out_base64(&out, &base64, "ht w", 4);
	out_base64(&out, &base64, NULL, 0);
	out_end(&out);
	assert_string_equal(t.data,
			    "\"a\\u0022\\u005c\\u003c/script\\u003e\\u003c!--\\u0026\\u000a\""
			    "&#60;a b=&#39;&#34;&#39;&#62;&#38;?bGlnaHQgdw==");
	free(t.data);
}

static char *drawn(bool with_event, void (*draw)(struct picture *))
{
	static struct spec_probe probe = { .kind = PROBE_ENTRY, .group = "g", .event = "ev" };
	struct text t = { .data = NULL };
	struct picture_ops ops = { .put = put, .args = no_args, .stack = no_stack, .ctx = &t };
	struct event_record record = { .size = sizeof(record),
				       .kind = EVENT_HIT,
				       .pid = 1,
				       .tid = 2,
				       .time = 100,
				       .comm = "<\377>" };
	struct picture *p = picture_new(&ops, NULL);

	assert_non_null(p);
	if (with_event) {
		assert_int_equal(picture_add(p, &probe, &record, 0), 0);
		picture_lost(p, 3);
	}
	picture_end(p);
	draw(p);
	picture_free(p);
	return t.data;
}

static void html(struct picture *p)
{
	(void)picture_html(p);
}

/* Without an event, and with one, something is drawn. */
static void little(void **state)
{
	void (*const draw[])(struct picture *) = { picture_flame, picture_heat, html };

	(void)state;
	for (size_t i = 0; i < sizeof(draw) / sizeof(draw[0]); i++)
		for (int with_event = 0; with_event < 2; with_event++) {
			char *text = drawn(with_event, draw[i]);

			if (draw[i] == html && !picture_page_tail_len()) {
				assert_null(text);
				continue;
			}
			assert_non_null(text);
			assert_null(strstr(text, "\377"));
			assert_null(strstr(text, "nan\""));
			assert_null(strstr(text, "inf\""));
			if (draw[i] != html)
				assert_non_null(strstr(text, "</svg>\n"));
			else if (with_event)
				assert_non_null(strstr(text, "\"\\u003c\\u005c377\\u003e\""));
			free(text);
		}
}

/* --- while a trace runs -------------------------------------------------------------------------- */

static void meter_counts(void **state)
{
	struct spec_probe entry = { .kind = PROBE_ENTRY,
				    .group = "g",
				    .event = "f",
				    .path = (char *)"/x",
				    .offset = 16,
				    .serial = 1 };
	struct spec_probe ret = { .kind = PROBE_RETURN,
				  .group = "g",
				  .event = "f_ret",
				  .path = (char *)"/x",
				  .offset = 16,
				  .serial = 2 };
	struct spec_probe alone = { .kind = PROBE_ENTRY,
				    .group = "g",
				    .event = "alone",
				    .path = (char *)"/x",
				    .offset = 32,
				    .serial = 3 };
	struct event_record record = {
		.size = sizeof(record), .kind = EVENT_HIT, .pid = 1, .tid = 1
	};
	struct meter *m = meter_new();
	struct meter_row row;

	(void)state;
	assert_non_null(m);
	assert_int_equal(meter_add_probe(m, &ret) | meter_add_probe(m, &entry) |
				 meter_add_probe(m, &alone),
			 0);
	assert_int_equal(meter_n(m), 2);
	for (unsigned i = 0; i < 200; i++) {
		record.probe = 0;
		record.time += 1000;
		assert_int_equal(meter_add(m, &entry, &record, 0), 0);
		record.probe = 1;
		record.time += i < 190 ? 100 : 5000;
		assert_int_equal(meter_add(m, &ret, &record, 0), 0);
	}
	record.probe = 2;
	assert_int_equal(meter_add(m, &alone, &record, 7), 0);
	record = (struct event_record){ .size = sizeof(record),
					.kind = EVENT_LOST,
					.n_lost = 3 };
	assert_int_equal(meter_add(m, NULL, &record, 0), 0);
	meter_row(m, 0, &row);
	assert_string_equal(row.name, "f");
	assert_int_equal(row.hits, 400);
	assert_int_equal(row.calls, 200);
	assert_int_equal(row.max_ns, 5000);
	assert_int_equal(row.p50_ns, cube_lat_ns(cube_lat(100)));
	assert_int_equal(row.p99_ns, cube_lat_ns(cube_lat(5000)));
	assert_int_equal(row.octaves[6], 190);
	assert_int_equal(row.octaves[12], 10);
	meter_row(m, 1, &row);
	assert_string_equal(row.name, "alone");
	assert_int_equal(row.hits, 7);
	assert_int_equal(row.calls + row.p50_ns + row.max_ns, 0);
	meter_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_bins),      cmocka_unit_test(cube_is_bounded),
		cmocka_unit_test(cube_is_full),      cmocka_unit_test(cube_takes_any_time),
		cmocka_unit_test(events_in_runs),    cmocka_unit_test(longest_calls),
		cmocka_unit_test(names_are_bounded), cmocka_unit_test(tree_is_bounded),
		cmocka_unit_test(escapes),           cmocka_unit_test(little),
		cmocka_unit_test(meter_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
