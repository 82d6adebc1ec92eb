/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the public interface tells of files, forms of output and keys of counts, without a process; and of a recording: which of its events are chosen, and
 * of what parts it is.
 */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_files.h"
#include "engine/ubp_record.h"
#include "engine/ubp_recording.h"
#include "engine/ubp_sink.h"
#include "engine/ubp_tally.h"
#include "tests/unit/fixture_file.h"

#define EXE "/proc/self/exe"

__attribute__((noinline)) long asks_probed(long n);

long asks_probed(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static struct ubp_err err;

static void well(int64_t rc)
{
	if (rc < 0)
		fail_msg("%s", err.text);
}

/* --- files ------------------------------------------------------------------------------------------- */

static int has_libc(void *ctx, const char *name, const char *path)
{
	*(bool *)ctx |= strcmp(name, "libc.so.6") == 0 && path[0] == '/';
	return 0;
}

static int has_line(void *ctx, const char *line)
{
	*(bool *)ctx |= strstr(line, "return n + 1;") != NULL;
	return 0;
}

static int has_variable(void *ctx, const char *line)
{
	*(bool *)ctx |= strstr(line, "long") && strstr(line, "n");
	return 0;
}

static int ends_at_once(void *ctx, const char *line)
{
	(void)line;
	++*(int *)ctx;
	return 77;
}

static void listings(void **state)
{
	struct ubp_target target = { .name = EXE };
	bool found = false;
	int n = 0;

	(void)state;
	well(ubp_list_libraries(has_libc, &found, &err));
	assert_true(found);
	found = false;
	well(ubp_list_lines(&target, "asks_probed", has_line, &found, &err));
	assert_true(found);
	found = false;
	well(ubp_list_variables(&target, "asks_probed", has_variable, &found, &err));
#ifndef __SANITIZE_ADDRESS__ /* built with lines alone */
	assert_true(found);
#endif
	/* What a function returns ends it. */
	assert_int_equal(ubp_list_lines(&target, "asks_probed", ends_at_once, &n, &err), 77);
	assert_int_equal(n, 1);
	assert_int_equal(ubp_list_lines(&target, "asks_nothing", ends_at_once, &n, &err),
			 -ENOENT);
}

static int look_at_usdt(void *ctx, const struct ubp_usdt *usdt)
{
	char text[64], short_text[2];

	for (size_t i = 0; i < usdt->n_args; i++) {
		*(unsigned *)ctx += ubp_usdt_arg(usdt, i, text, sizeof(text));
		assert_true(text[0] && strlen(text) < sizeof(text));
		(void)ubp_usdt_arg(usdt, i, short_text, sizeof(short_text));
		assert_true(strlen(short_text) < sizeof(short_text));
	}
	assert_false(ubp_usdt_arg(usdt, usdt->n_args, text, sizeof(text)));
	return 0;
}

static void static_probes(void **state)
{
	struct ubp_target target = { .name = fixture_or_skip("usdt") };
	unsigned n = 0;

	(void)state;
	well(ubp_list_usdt(&target, look_at_usdt, &n, &err));
	assert_true(n > 0);
}

static void coverage(void **state)
{
	struct ubp_coverage found;
	uint64_t whys = 0;

	(void)state;
	well(ubp_coverage(EXE, false, &found, &err));
	assert_true(found.entries.n > 100);
	assert_int_equal(found.entries.n, found.entries.one + found.entries.several +
						  found.entries.breakpoint +
						  found.entries.refused);
	assert_int_equal(found.insns.n, 0);
	for (unsigned i = 0; i < 16; i++) {
		whys += found.entries.why[i];
		/* What is counted has a name. */
		assert_true(!found.entries.why[i] || ubp_coverage_why(i));
	}
	assert_int_equal(whys, found.entries.breakpoint + found.entries.refused);
	assert_null(ubp_coverage_why(1000));
	assert_int_equal(ubp_coverage("/no/such/file", false, &found, &err), -ENOENT);
}

/* --- forms, keys ---------------------------------------------------------------------------------------- */

static void forms(void **state)
{
	struct ubp_sink_form form;

	(void)state;
	assert_true(ubp_sink_form("json", &form) && form.is_data && !form.is_binary &&
		    !form.is_whole);
	assert_true(ubp_sink_form("pprof", &form) && form.is_binary);
	assert_true(ubp_sink_form("ctf", &form) && form.file && form.file_beside);
	assert_true(ubp_sink_form("text", &form) && form.has_header && !form.file);
	assert_false(ubp_sink_form("nonsense", &form));
	assert_false(ubp_sink_form(NULL, &form));
}

static void samples(void **state)
{
	(void)state;
	assert_int_equal(ubp_sample_check("7", &err), 0);
	assert_int_equal(ubp_sample_check("n:4KiB", &err), 0);
	assert_int_equal(ubp_sample_check("0", &err), -EINVAL);
	assert_int_equal(ubp_sample_check("2147483648", &err), -EINVAL);
	assert_int_equal(ubp_sample_check(NULL, &err), -EINVAL);
	assert_true(err.text[0]);
}

static void key_is(enum ubp_tally_kind kind, uint64_t number, uint64_t width, uint64_t first,
		   uint64_t last)
{
	const struct ubp_tally_part part = { .kind = kind, .number = number, .width = width };

	assert_int_equal(ubp_tally_first(&part), first);
	assert_int_equal(ubp_tally_last(&part), last);
}

static void ranges(void **state)
{
	(void)state;
	key_is(UBP_TALLY_LOG2, 3, 0, 5, 8);
	key_is(UBP_TALLY_LOG2, 1, 0, 2, 2);
	key_is(UBP_TALLY_LOG2, 0, 0, 0, 1);
	key_is(UBP_TALLY_BUCKETS, 0, 10, 0, 9);
	key_is(UBP_TALLY_BUCKETS, 2, 10, 20, 29);
}

/* --- a recording ------------------------------------------------------------------------------------------ */

#define CALLS 40

static pid_t pid;
static uint64_t first_ns, last_ns;

static int no_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	(void)event;
	return 0;
}

static void dispatch_to_end(struct ubp_session *s)
{
	while (!ubp_is_done(s)) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 100);
		well(ubp_dispatch(s, no_event, NULL, &err));
	}
	ubp_stop(s);
	well(ubp_drain(s, no_event, NULL, &err));
}

/* Entries and returns of CALLS calls. A command: its process is known, and how it ended. */
static void record(const char *path)
{
	char *argv[] = { EXE, "calls", NULL };
	struct ubp_record_options to = { .path = path };
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	const char *perhaps;
	uint64_t bytes = 0;
	int status = -1;

	opt.lossless = true;
	well(ubp_session_new(&opt, &s, &err));
	well(ubp_add(s, "p:entry " EXE ":asks_probed n=$arg1:s64", NULL, &err));
	well(ubp_add(s, "r:back " EXE ":asks_probed", NULL, &err));
	/* Asked before the start, of what may be either. */
	(void)ubp_explain_tracing(s, &perhaps);
	assert_int_equal(ubp_command_pid(s), 0);
	assert_int_equal(ubp_record_next(s, &err), -EINVAL);
	well(ubp_run_command(s, argv, &err));
	well(ubp_record(s, &to, &err));
	well(ubp_start(s, &err));
	pid = ubp_command_pid(s);
	assert_true(pid > 0);
	dispatch_to_end(s);
	assert_int_equal(ubp_record_count(s, &bytes), 2 * CALLS);
	assert_true(bytes > 0);
	assert_true(ubp_command_status(s, &status) && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 7);
	well(ubp_record_end(s, &err));
	ubp_session_free(s);
}

static struct ubp_recording *opened(const char *path)
{
	struct ubp_recording *r;

	well(ubp_recording_open(path, &r, &err));
	return r;
}

static int count(void *ctx, const struct ubp_event *event)
{
	if (!first_ns)
		first_ns = ubp_event_time_ns(event);
	last_ns = ubp_event_time_ns(event);
	assert_int_equal(ubp_event_pid(event), pid);
	/* It is of one host alone. */
	assert_null(ubp_event_host(event));
	++*(int *)ctx;
	return 0;
}

/* How many events are read of it, which goes. */
static int n_of(struct ubp_recording *r)
{
	int n = 0, rc;

	do {
		rc = ubp_recording_read(r, count, &n, 7, &err);
		assert_in_range(rc, 0, 7);
	} while (rc > 0);
	ubp_recording_free(r);
	return n;
}

static void choices(const char *path)
{
	struct ubp_recording_time from = { .is_set = true }, to = { .is_set = true };
	struct ubp_recording *r = opened(path);
	const pid_t others[] = { 1, 2 };

	assert_int_equal(n_of(r), 2 * CALLS);
	to.ns = first_ns;
	from.ns = last_ns;
	r = opened(path);
	well(ubp_recording_choose(r, "entry", "n >= 10", &err));
	assert_int_equal(ubp_recording_choose(r, "nothing", NULL, &err), -ENOENT);
	assert_int_equal(n_of(r), CALLS - 10);
	r = opened(path);
	well(ubp_recording_choose_pids(r, &pid, 1, &err));
	assert_int_equal(n_of(r), 2 * CALLS);
	r = opened(path);
	well(ubp_recording_choose_pids(r, others, 2, &err));
	assert_int_equal(n_of(r), 0);
	/* Both ends are included: one event each. */
	r = opened(path);
	ubp_recording_choose_time(r, NULL, &to);
	assert_int_equal(n_of(r), 1);
	r = opened(path);
	ubp_recording_choose_time(r, &from, NULL);
	assert_int_equal(n_of(r), 1);
}

struct printed {
	size_t n_lines;
	uint64_t n_events;
};

static int on_text(void *ctx, const char *text, size_t len, uint64_t n_events)
{
	struct printed *p = ctx;

	for (size_t i = 0; i < len; i++)
		p->n_lines += text[i] == '\n';
	p->n_events += n_events;
	return 0;
}

static void parts(const char *path)
{
	const struct ubp_sink_options as_json = { .form = "json" };
	const char *twice[] = { path, path };
	struct ubp_recording_damage damage;
	struct ubp_recording_info info;
	struct printed printed = { 0 };
	struct ubp_recording *r = opened(path);
	struct ubp_sink *sink;
	size_t len = 1;

	assert_int_equal(ubp_recording_n_parts(r), 1);
	ubp_recording_part_info(r, 0, &info);
	assert_string_equal(info.path, path);
	assert_true(info.is_whole && info.records == 2 * CALLS && !info.lost && info.host);
	well(ubp_recording_sink(r, &as_json, &sink, &err));
	well(ubp_recording_print(r, sink, on_text, &printed, &err));
	assert_int_equal(printed.n_events, 2 * CALLS);
	assert_int_equal(printed.n_lines, 2 * CALLS);
	(void)ubp_sink_flush(sink, &len);
	assert_int_equal(len, 0);
	assert_non_null(strstr(ubp_sink_lost(sink, 5, &len), "5"));
	assert_int_equal(ubp_sink_untold(sink), 0);
	ubp_sink_free(sink);
	ubp_recording_damage(r, &damage);
	assert_true(!damage.bytes && !damage.records && !damage.twice);
	ubp_recording_free(r);
	/* Of a copy it is told that it is one; its events are read all the same. */
	well(ubp_recording_open_all(twice, 2, NULL, &r, &err));
	ubp_recording_damage(r, &damage);
	assert_int_equal(damage.twice, 1);
	assert_int_equal(n_of(r), 4 * CALLS);
}

static void recording(void **state)
{
	char dir[] = "/tmp/ubp-asks.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/rec", dir);
	record(path);
	choices(path);
	parts(path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static int be_program(void)
{
	for (long n = 0; n < CALLS; n++)
		if (asks_probed(n) != n + 1)
			return 1;
	return 7;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listings),  cmocka_unit_test(static_probes),
		cmocka_unit_test(coverage),  cmocka_unit_test(forms),
		cmocka_unit_test(samples),   cmocka_unit_test(ranges),
		cmocka_unit_test(recording),
	};

	if (argc > 1 && strcmp(argv[1], "calls") == 0)
		return be_program();
	return cmocka_run_group_tests_name("api asks", tests, NULL, NULL);
}
