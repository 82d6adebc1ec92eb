/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is printed of recordings is the same by one thread and by many, to the byte and in its order. */

#include "engine/session/recording_print.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/ubp_event.h"
#include "engine/ubp_sink.h"
#include "tests/unit/recording_make.h"

#define N_HITS 4000

static const char *const paths[] = { "a", "b" };
static char folder[32];

static void make_lost(struct recording *recording, int64_t time)
{
	struct event_record lost = { .size = sizeof(lost), .kind = EVENT_LOST, .n_lost = 77 };
	struct ring_time_sample readings[2] = { { 0, 0 } };
	struct ubp_err err;

	ubp_err_reset(&err);
	lost.time = (uint64_t)time;
	recording_look_begin(recording, readings, 0);
	assert_true(recording_add_stop(recording, &lost));
	assert_int_equal(recording_look_end(recording, (uint64_t)time, &err), 0);
}

static void make(const char *path, const struct recording_make_host *host, int first)
{
	struct recording *recording = recording_make_begin(path, host, false);

	recording_make_probe(recording, "p:grp/ev /bin/ls:0x1000 n=%di:u64 s=+0(%si):string");
	for (int i = 0; i < N_HITS; i++) {
		recording_make_hit(recording, host->clock_ns + i * 1000, first + i, 16);
		if (i % 1000 == 999)
			make_lost(recording, host->clock_ns + i * 1000 + 500);
	}
	recording_make_end(recording);
}

/* Two hosts, so that each event has its own beside it. */
static int make_files(void **state)
{
	static const struct recording_make_host a = { "a", "one", 1000 * SECOND,
						      5000 * SECOND };
	static const struct recording_make_host b = { "b", "two", 7 * SECOND,
						      5000 * SECOND + 300 };

	(void)state;
	strcpy(folder, "/tmp/ubp-print-XXXXXX");
	if (!mkdtemp(folder) || chdir(folder) < 0)
		return -1;
	make("a", &a, 1);
	make("b", &b, 100000);
	return 0;
}

static int drop_files(void **state)
{
	(void)state;
	(void)unlink("a");
	(void)unlink("b");
	return chdir("/") || rmdir(folder);
}

struct printed {
	struct sink_buf text;
	uint64_t n_events, n_pieces;
	uint64_t most; /* pieces; 0: all */
	size_t n_threads;
};

static size_t count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static int take(void *ctx, const char *text, size_t len, uint64_t n_events)
{
	struct printed *printed = ctx;

	sink_buf_add(&printed->text, text, len);
	printed->n_events += n_events;
	printed->n_pieces++;
	printed->n_threads = count_threads();
	return printed->n_pieces == printed->most;
}

static struct printed print(const char *form, unsigned n_helpers, uint64_t most)
{
	static const struct ubp_recording_align align = { NULL };
	struct ubp_sink_options options = { .form = form };
	struct printed printed = { .most = most };
	struct ubp_recording *recording;
	struct ubp_sink *sink;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(ubp_recording_open_all(paths, 2, &align, &recording, &err), 0);
	assert_int_equal(ubp_recording_sink(recording, &options, &sink, &err), 0);
	assert_int_equal(recording_print(recording, sink, n_helpers, take, &printed, &err), 0);
	assert_false(ubp_sink_is_short(sink));
	ubp_sink_free(sink);
	ubp_recording_free(recording);
	return printed;
}

struct lines {
	struct ubp_sink *sink;
	struct sink_buf text;
};

static int add_line(void *ctx, const struct ubp_event *event)
{
	struct lines *lines = ctx;
	size_t len;
	const char *line = ubp_sink_event(lines->sink, event, &len);

	sink_buf_add(&lines->text, line, len);
	return 0;
}

/* Event by event. */
static struct sink_buf one_by_one(const char *form)
{
	static const struct ubp_recording_align align = { NULL };
	struct ubp_sink_options options = { .form = form };
	struct ubp_recording *recording;
	struct lines lines = { 0 };
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(ubp_recording_open_all(paths, 2, &align, &recording, &err), 0);
	assert_int_equal(ubp_recording_sink(recording, &options, &lines.sink, &err), 0);
	while (ubp_recording_read(recording, add_line, &lines, 100, &err) > 0)
		;
	ubp_sink_free(lines.sink);
	ubp_recording_free(recording);
	return lines.text;
}

static void is_the_same_by_any_number_of_threads(void **state)
{
	static const char *const forms[] = { "text", "json", "csv" };
	static const unsigned n_helpers[] = { 0, 1, 2, RECORDING_PRINT_HELPERS_MAX };

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		struct sink_buf want = one_by_one(forms[f]);

		for (size_t i = 0; i < sizeof(n_helpers) / sizeof(n_helpers[0]); i++) {
			struct printed got = print(forms[f], n_helpers[i], 0);
			bool is_csv = strcmp(forms[f], "csv") == 0;

			assert_int_equal(got.n_events, 2 * (N_HITS + N_HITS / 1000));
			assert_int_equal(got.text.len, want.len);
			assert_memory_equal(got.text.data, want.data, want.len);
			assert_true(got.n_pieces > 5);
			/* Columns of CSV are known from the first event on. */
			assert_int_equal(got.n_threads, is_csv ? 1 : 1 + n_helpers[i]);
			/* One that was joined may be listed for a moment. */
			for (unsigned k = 0; k < 100000 && count_threads() != 1; k++)
				sched_yield();
			assert_int_equal(count_threads(), 1);
			sink_buf_free(&got.text);
		}
		sink_buf_free(&want);
	}
}

static void ends_where_no_more_is_wanted(void **state)
{
	struct printed all = print("text", 0, 0);

	(void)state;
	for (unsigned n_helpers = 0; n_helpers < 4; n_helpers++) {
		struct printed some = print("text", n_helpers, 3);

		assert_int_equal(some.n_pieces, 3);
		assert_true(some.text.len > 0 && some.text.len < all.text.len);
		assert_memory_equal(some.text.data, all.text.data, some.text.len);
		assert_int_equal(count_threads(), 1);
		sink_buf_free(&some.text);
	}
	sink_buf_free(&all.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_same_by_any_number_of_threads),
		cmocka_unit_test(ends_where_no_more_is_wanted),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
