/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Event triggers against what a kernel answered (tests/corpus/triggers.jsonl), every row: for each text written its errno,
 * the entries of error_log with their carets, and what the file reads then; at the end all trigger, hist and enable files,
 * the trace and the snapshot. Hits are those of the program that the rows were recorded with (trigger_hits.h).
 *
 * tests/corpus/triggers_found.jsonl has more of them: texts that once were answered differently. UBP_TRIGGERS=FILE: the rows of that
 * file instead, of random triggers (tests/machine/triggers.sh).
 *
 * What is not compared: frames of the kernel's stack, which are the kernel's; the hist files of the rows that the corpus calls
 * undefined; digits of those that it calls volatile; the order of entries where it says that this follows from ids or times.
 */

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/sink/buf.h"
#include "engine/spec/table.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "tests/unit/masked.h"
#include "tests/unit/spec_fixture.h"
#include "tests/unit/trigger_hits.h"
#include "tests/unit/trigger_trace.h"

/* Rows of the corpus: none is left out. */
#define N_ROWS  1059
#define N_FOUND 14

#define CATS_MAX   64
#define EVENTS_MAX 4

struct cat {
	char name[16];
	unsigned n, passed;
};

struct row {
	json_t *json;
	const char *id;
	struct trigger_set *set;
	struct spec_table *table;
	struct trigger_trace trace;
	struct trigger_event *events[EVENTS_MAX]; /* of definitions */
	const struct hits *hits;                  /* of the last run, */
	const struct hits *runs[EVENTS_MAX];      /* and of all */
	unsigned n_runs;
	bool differs, no_pids;
};

static struct cat cats[CATS_MAX];

static struct cat *cat_of(const char *name)
{
	struct cat *cat = cats;

	while (cat->name[0] && strcmp(cat->name, name) != 0)
		cat++;
	assert_true(cat < cats + CATS_MAX - 1);
	snprintf(cat->name, sizeof(cat->name), "%s", name);
	return cat;
}

__attribute__((format(printf, 2, 3))) static void differ(struct row *row, const char *fmt, ...)
{
	va_list args;

	row->differs = true;
	printf("%s: ", row->id);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

/* The events of the row, and one of the kernel's own that a text names. */
static void define(struct row *row)
{
	const struct spec_env env = fixture_env(true);
	struct trigger_event *event;
	struct ubp_err err;
	json_t *def;
	size_t i;

	row->table = spec_table_new(&env);
	row->set = trigger_set_new(&trigger_trace_out, &row->trace);
	row->trace.set = row->set;
	assert_non_null(row->table);
	assert_non_null(row->set);
	json_array_foreach(json_object_get(row->json, "defs"), i, def)
	{
		const char *text = json_string_value(def), *args = strstr(text, ")@");
		const struct spec_probe *probe;
		char line[4096];

		snprintf(line, sizeof(line), "%.*s /bin/t:0x%zx%s", (int)strcspn(text, " "),
			 text, 0x1000 + 16 * i, args + 2);
		ubp_err_reset(&err);
		if (spec_table_write(row->table, line, strlen(line), &err) < 0)
			fail_msg("%s: %s", line, err.text);
		probe = spec_table_probe(row->table, i);
		/* An event may have several probes. */
		event = trigger_set_find(row->set, probe->group, probe->event);
		if (!event)
			assert_int_equal(trigger_set_add(row->set, probe->group, probe->event,
							 probe, &event),
					 0);
		assert_true(i < EVENTS_MAX);
		row->events[i] = event;
	}
	if (strstr(row->id, "merr-059") || strstr(row->id, "enev-054"))
		assert_int_equal(trigger_set_add(row->set, "sched", "sched_switch",
						 spec_table_probe(row->table, 0), &event),
				 0);
}

static struct trigger_event *event_at(struct row *row, const char *path)
{
	char group[256];
	const char *slash = strchr(path, '/');

	snprintf(group, sizeof(group), "%.*s", (int)(slash - path), path);
	return trigger_set_find(row->set, group, slash + 1);
}

/* events/GROUP/EVENT/FILE */
static struct trigger_event *event_of_file(struct row *row, const char *path, const char *file)
{
	size_t len = strlen(path), tail = strlen(file);
	char event[256];

	if (strncmp(path, "events/", 7) != 0 || len < tail ||
	    strcmp(path + len - tail, file) != 0)
		return NULL;
	snprintf(event, sizeof(event), "%.*s", (int)(len - tail - 7), path + 7);
	return event_at(row, event);
}

static const char *text_of(json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static void write_step(struct row *row, json_t *step, int *ret_rc)
{
	const char *file = json_string_value(json_object_get(step, "write"));
	const char *text = json_string_value(json_object_get(step, "text"));
	size_t len = json_string_length(json_object_get(step, "text"));
	bool trunc = json_is_true(json_object_get(step, "trunc"));
	struct trigger_event *event;

	*ret_rc = 0;
	if (strcmp(file, "trigger") == 0) {
		event = event_at(row, json_string_value(json_object_get(step, "event")));
		if (!event) {
			differ(row, "there is no event %s", text_of(step, "event"));
			return;
		}
		if (trunc)
			trigger_truncate(row->set, event);
		*ret_rc = trigger_write(row->set, event, text, len);
	} else if (strcmp(file, "synthetic_events") == 0) {
		if (trunc)
			*ret_rc = synth_truncate(row->set);
		if (*ret_rc == 0)
			*ret_rc = synth_write(row->set, text, len);
	} else if (strcmp(file, "dynamic_events") == 0)
		*ret_rc = synth_write_dynamic(row->set, text, len);
	else if ((event = event_of_file(row, file, "/enable")))
		*ret_rc = trigger_write_enable(event, text, len);
	else if ((event = event_of_file(row, file, "/filter")))
		*ret_rc = trigger_write_filter(row->set, event, text);
	else if (strncmp(file, "events/", 7) == 0)
		*ret_rc = -ENOENT;
	else if (strcmp(file, "uprobe_events") == 0) {
		assert_int_equal(strncmp(text, "-:", 2), 0);
		*ret_rc = trigger_set_remove(row->set, "uprobes", text + 2);
	} else if (strcmp(file, "set_event_pid") == 0)
		row->no_pids = true; /* it names a process that is none of ours */
	else if (strcmp(file, "trace_options") != 0)
		fail_msg("%s: nothing is known of %s", row->id, file);
}

static int errno_of(const char *name)
{
	static const struct {
		const char *name;
		int code;
	} names[] = { { "EINVAL", EINVAL }, { "EEXIST", EEXIST }, { "ENOENT", ENOENT },
		      { "EBUSY", EBUSY },   { "ERANGE", ERANGE }, { "ENOMEM", ENOMEM },
		      { "EPERM", EPERM },   { "ESRCH", ESRCH },   { "EDOM", EDOM } };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].code;
	return name ? -1 : 0;
}

static void check_log(struct row *row, json_t *step, size_t before)
{
	json_t *want = json_object_get(step, "error"), *entry;
	size_t n = json_is_array(want) ? json_array_size(want) : 0, i;

	if (row->set->log.n - before != n)
		differ(row, "%s: %zu entries in error_log, not %zu; the last: %s",
		       text_of(step, "text"), row->set->log.n - before, n,
		       row->set->log.n
			       ? row->set->log.entries[(row->set->log.n - 1) % TRIGGER_LOG_MAX]
					 .text
			       : "");
	else
		json_array_foreach(want, i, entry)
		{
			const struct trigger_log_entry *have =
				&row->set->log.entries[(before + i) % TRIGGER_LOG_MAX];
			int caret = (int)json_integer_value(json_object_get(entry, "caret"));

			if (strcmp(have->location, text_of(entry, "loc")) != 0 ||
			    strcmp(have->text, text_of(entry, "text")) != 0 ||
			    strcmp(have->command, text_of(entry, "command")) != 0 ||
			    (int)have->caret != caret)
				differ(row, "logged: {%s} %s [%s] %u, not {%s} %s [%s] %d",
				       have->location, have->text, have->command, have->caret,
				       text_of(entry, "loc"), text_of(entry, "text"),
				       text_of(entry, "command"), caret);
		}
}

static void check_text(struct row *row, const char *what, const struct sink_buf *have,
		       const char *want)
{
	struct masked masked = { .hits = row->hits,
				 .runs = row->runs,
				 .n_runs = row->n_runs,
				 .digits = json_object_get(row->json, "volatile") != NULL,
				 .unordered = json_object_get(row->json, "order") != NULL };

	if (!masked_equal(&masked, have->data ? have->data : "", want))
		differ(row, "%s: reads\n%s\nnot\n%s", what, have->data ? have->data : "", want);
}

static void read_trigger(const struct trigger_event *event, struct sink_buf *text)
{
	if (event && event->triggers)
		trigger_read(event, text);
}

static void check_listing(struct row *row, json_t *step)
{
	const char *file = text_of(step, "write");
	struct sink_buf text = { 0 };

	if (!json_object_get(step, "listing"))
		return;
	if (strcmp(file, "trigger") == 0)
		read_trigger(event_at(row, text_of(step, "event")), &text);
	else if (strcmp(file, "synthetic_events") == 0)
		synth_read(row->set, &text);
	else
		return; /* definitions: their tests are others */
	check_text(row, text_of(step, "text"), &text, text_of(step, "listing"));
	sink_buf_free(&text);
}

static void check_write(struct row *row, json_t *step)
{
	int want = errno_of(json_string_value(json_object_get(step, "errno"))), rc;
	size_t before = row->set->log.n;

	write_step(row, step, &rc);
	if (rc != -want)
		differ(row, "%s: %s, not %s", text_of(step, "text"), strerror(-rc),
		       strerror(want));
	check_log(row, step, before);
	check_listing(row, step);
}

/* A file of an event: GROUP/EVENT/FILE. */
static void check_event_file(struct row *row, const char *key, const char *want)
{
	const char *file = strrchr(key, '/');
	struct trigger_event *event;
	struct sink_buf text = { 0 };
	char path[256];

	snprintf(path, sizeof(path), "%.*s", (int)(file - key), key);
	event = event_at(row, path);
	if (!event)
		differ(row, "%s: there is no such event", key);
	else if (strcmp(file, "/trigger") == 0)
		read_trigger(event, &text);
	else if (strcmp(file, "/hist") == 0)
		trigger_read_hist(row->set, event, NULL, &text);
	else if (strcmp(file, "/enable") == 0)
		sink_buf_printf(&text, "%s", event_state(event));
	else if (strcmp(file, "/format") == 0)
		synth_format(event, &text);
	else
		fail_msg("%s: nothing is known of %s", row->id, key);
	if (event && !(json_is_true(json_object_get(row->json, "undefined")) ||
		       json_is_string(json_object_get(row->json, "undefined"))))
		check_text(row, key, &text, want);
	sink_buf_free(&text);
}

static const char *snapshot_state(const struct row *row)
{
	return row->set->has_snapshot ? "allocated" : "freed";
}

static void check_trace(struct row *row, const char *key, const struct trace_buffer *buffer,
			json_t *want)
{
	struct sink_buf have = { 0 }, lines = { 0 };
	json_t *line;
	size_t i;

	for (i = 0; i < buffer->n; i++)
		if (buffer->items[i]->is_kept)
			sink_buf_printf(&have, "%s\n", buffer->items[i]->text);
	json_array_foreach(want, i, line)
		sink_buf_printf(&lines, "%s\n", json_string_value(line));
	check_text(row, key, &have, lines.data ? lines.data : "");
	sink_buf_free(&have);
	sink_buf_free(&lines);
}

static void check_read(struct row *row, json_t *step)
{
	const char *file = text_of(step, "read"), *want = text_of(step, "text");
	struct sink_buf text = { 0 };
	char path[256];

	if (strcmp(file, "snapshot") == 0) {
		if (!strstr(want, snapshot_state(row)))
			differ(row, "the snapshot is %s", snapshot_state(row));
		return;
	}
	assert_int_equal(strncmp(file, "events/", 7), 0);
	snprintf(path, sizeof(path), "%s", file + 7);
	if (strstr(path, "/enable")) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s", "");
		sink_buf_printf(&text, "%.*s", (int)strcspn(want, "\n"), want);
		check_event_file(row, path, text.data);
		sink_buf_free(&text);
	} else
		check_event_file(row, path, want);
}

static void check_dynamic(struct row *row, const char *want)
{
	struct sink_buf text = { 0 };

	synth_read_dynamic(row->set, &text);
	check_text(row, "dynamic_events", &text, want);
	sink_buf_free(&text);
}

static void check_after(struct row *row)
{
	json_t *after = json_object_get(row->json, "after"), *want;
	const char *key;

	json_object_foreach(after, key, want)
	{
		const char *text = json_string_value(want);

		if (strchr(key, '/'))
			check_event_file(row, key, text);
		else if (strcmp(key, "tracing_on") == 0) {
			if (row->set->tracing_on != (strcmp(text, "1") == 0))
				differ(row, "tracing_on is not %s", text);
		} else if (strcmp(key, "trace_clock") == 0) {
			if (strcmp(row->set->clock, text) != 0)
				differ(row, "the clock is %s, not %s", row->set->clock, text);
		} else if (strcmp(key, "dynamic_events") == 0)
			check_dynamic(row, text);
		else if (strcmp(key, "trace") == 0)
			check_trace(row, key, &row->trace.now, want);
		else if (strcmp(key, "snapshot") == 0 && json_is_array(want))
			check_trace(row, key, &row->trace.snapshot, want);
		else if (strcmp(key, "snapshot") == 0) {
			if (strcmp(snapshot_state(row), text) != 0)
				differ(row, "the snapshot is %s, not %s", snapshot_state(row),
				       text);
		} else
			fail_msg("%s: nothing is known of %s", row->id, key);
	}
}

static void run_step(struct row *row, json_t *parts)
{
	assert_true(row->n_runs < EVENTS_MAX);
	row->hits = hits_of(json_object_get(row->json, "defs"), parts, row->n_runs);
	row->runs[row->n_runs++] = row->hits;
	assert_int_not_equal(row->hits->n, 0);
	for (size_t i = 0; i < row->hits->n && !row->no_pids; i++) {
		const struct event_record *record = row->hits->records[i];

		trigger_hit(row->set, row->events[record->probe], record);
	}
}

static void check_row(json_t *json)
{
	struct row row = { .json = json, .id = text_of(json, "id") };
	struct cat *cat = cat_of(text_of(json, "cat"));
	json_t *step;
	size_t i;

	define(&row);
	json_array_foreach(json_object_get(json, "steps"), i, step)
	{
		if (json_object_get(step, "run"))
			run_step(&row, json_object_get(step, "run"));
		else if (json_object_get(step, "read"))
			check_read(&row, step);
		else
			check_write(&row, step);
	}
	check_after(&row);
	cat->n++;
	cat->passed += !row.differs;
	trigger_set_free(row.set);
	trigger_trace_free(&row.trace);
	spec_table_free(row.table);
}

/*
 * Bytes that are not UTF-8 are lone surrogates in the file, \udc80 to \udcff, which jansson does not read: they become characters of
 * a private plane, U+F780 to U+F7FF, and these become bytes again where texts are compared (masked.c).
 */
static json_t *load(char *line)
{
	json_t *json;

	for (char *at = line; (at = strstr(at, "\\udc")); at += 4)
		if (at[4] >= '8') {
			at[2] = 'f';
			at[3] = '7';
		}
	json = json_loads(line, JSON_ALLOW_NUL, NULL);
	if (!json)
		fail_msg("a row cannot be read: %.100s", line);
	return json;
}

/* Returns how many rows there are. */
static unsigned check_rows(const char *path, const char *program)
{
	unsigned n = 0, n_passed = 0;
	char *line = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	memset(cats, 0, sizeof(cats));
	hits_begin(program);
	while (getline(&line, &room, file) > 0) {
		json_t *json = load(line);

		check_row(json);
		json_decref(json);
	}
	free(line);
	fclose(file);
	hits_end();
	for (const struct cat *cat = cats; cat->name[0]; cat++) {
		printf("%-8s %u of %u\n", cat->name, cat->passed, cat->n);
		n += cat->n;
		n_passed += cat->passed;
	}
	printf("%u of %u rows\n", n_passed, n);
	assert_int_equal(n_passed, n);
	return n;
}

static unsigned check_corpus(const char *name)
{
	const char *src = getenv("UBP_SRC");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/corpus/%s", src ? src : ".", name);
	return check_rows(path, "tests/corpus/trigtgt.c");
}

static void answers_as_the_kernel_did(void **state)
{
	(void)state;
	assert_int_equal(check_corpus("triggers.jsonl"), N_ROWS);
}

static void answers_what_was_found_later(void **state)
{
	(void)state;
	assert_int_equal(check_corpus("triggers_found.jsonl"), N_FOUND);
}

static void answers_random_texts(void **state)
{
	(void)state;
	check_rows(getenv("UBP_TRIGGERS"), "tests/machine/triggers/rndtgt.c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_as_the_kernel_did),
		cmocka_unit_test(answers_what_was_found_later),
	};
	const struct CMUnitTest random[] = {
		cmocka_unit_test(answers_random_texts),
	};

	if (getenv("UBP_TRIGGERS"))
		return cmocka_run_group_tests(random, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
