/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stacks with names: lines, JSON, and folded for flame graphs. */

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/sink/folded.h"
#include "engine/sink/json.h"
#include "engine/sink/text.h"
#include "engine/sink/value.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"

static struct probe_make make;
static struct event_record *record;
static struct sink_buf text;

#define PATH "/usr/bin/x"
#define LIB  "/usr/lib/lib x.so"

static const uint64_t stack[] = { 0x401010, 0x401020, 0x7f0000001234, 0x5000,
				  0x6000,   0x7000,   0x8000 };

static const struct sink_frame inlined[] = {
	{ .vaddr = 0x401020,
	  .function = "parse",
	  .file = PATH,
	  .source = "src/x.c",
	  .line = 7,
	  .is_inlined = true },
	{ .vaddr = 0x401020,
	  .function = "main",
	  .offset = 0x1c,
	  .file = PATH,
	  .file_vaddr = 0x1020,
	  .source = "src/x.c",
	  .line = 12 },
};

static const struct sink_frame others[] = {
	{ .vaddr = 0x401010, .function = "ns::f<a;b>", .file = PATH, .file_vaddr = 0x1010 },
	{ 0 },
	{ .vaddr = 0x7f0000001234, .file = LIB, .file_vaddr = 0x1234 },
	{ .vaddr = 0x5000, .file = "[heap]" },
	{ .vaddr = 0x6000, .function = "Lfoo;\x1b[31m\xff", .offset = 0x10, .file = "//anon" },
	{ .vaddr = 0x7000 },
};

/* The last entry is nobody's: 0. */
static size_t resolve(void *ctx, const struct event_record *r, size_t i,
		      struct sink_frame frames[SINK_FRAMES_MAX])
{
	assert_null(ctx);
	assert_int_equal(sink_stack_entry(r, i), stack[i]);
	if (i == 1) {
		memcpy(frames, inlined, sizeof(inlined));
		return 2;
	}
	if (i == 6)
		return 0;
	frames[0] = others[i];
	return 1;
}

static const struct sink_resolver resolver = { resolve, NULL };

static int set_up(void **state)
{
	(void)state;
	record = record_make();
	probe_make(&make, false, "a=%di:s32");
	record_clear(record, &make.probe);
	record_put_stack(record, stack, sizeof(stack) / sizeof(stack[0]));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sink_buf_free(&text);
	free(record);
	return 0;
}

static const char *lines(bool escape)
{
	const struct sink_text_options opt = { .escape = escape, .resolver = &resolver };

	text.len = 0;
	sink_text_stack(&text, record, &opt);
	sink_buf_add(&text, "", 1);
	return text.data;
}

static void text_has_names(void **state)
{
	(void)state;
	assert_string_equal(lines(false), " => ns::f<a;b>+0x0 (" PATH ")\n"
					  " => parse (inlined) (" PATH ") src/x.c:7\n"
					  " => main+0x1c (" PATH ") src/x.c:12\n"
					  " => 0x7f0000001234 (" LIB "+0x1234)\n"
					  " => 0x5000 ([heap])\n"
					  " => Lfoo;\x1b[31m\xff+0x10 (//anon)\n"
					  " => 0x7000\n"
					  " =>  <0000000000008000>\n");
	assert_non_null(strstr(lines(true), " => Lfoo;\\033[31m\\377+0x10 (//anon)\n"));
}

/* The lines stand where those of the kernel stand. */
static void text_has_its_head(void **state)
{
	const struct sink_text_options opt = { .resolver = &resolver };

	(void)state;
	text.len = 0;
	sink_text_line(&text, &make.probe, record, &opt);
	sink_buf_add(&text, "", 1);
	assert_non_null(strstr(text.data, ": <user stack trace>\n => ns::f<a;b>+0x0 ("));
}

static void json_has_objects(void **state)
{
	json_t *json, *entries, *entry;
	json_error_t error;

	(void)state;
	text.len = 0;
	sink_json_line(&text, &make.probe, record, &resolver);
	json = json_loadb(text.data, text.len, 0, &error);
	if (!json)
		fail_msg("%s", error.text);
	entries = json_object_get(json, "stack");
	assert_int_equal(json_array_size(entries), 8);
	entry = json_array_get(entries, 1);
	assert_string_equal(json_string_value(json_object_get(entry, "function")), "parse");
	assert_true(json_is_true(json_object_get(entry, "inlined")));
	assert_null(json_object_get(entry, "offset"));
	entry = json_array_get(entries, 2);
	assert_string_equal(json_string_value(json_object_get(entry, "addr")), "0x401020");
	assert_int_equal(json_integer_value(json_object_get(entry, "offset")), 0x1c);
	assert_string_equal(json_string_value(json_object_get(entry, "file")), PATH);
	assert_string_equal(json_string_value(json_object_get(entry, "file_addr")), "0x1020");
	assert_string_equal(json_string_value(json_object_get(entry, "source")), "src/x.c");
	assert_int_equal(json_integer_value(json_object_get(entry, "line")), 12);
	assert_null(json_object_get(entry, "inlined"));
	entry = json_array_get(entries, 6);
	assert_int_equal(json_object_size(entry), 1);
	assert_string_equal(json_string_value(json_array_get(entries, 7)), "0x8000");
	json_decref(json);
}

static void folded_is_one_line(void **state)
{
	(void)state;
	strcpy(record->comm, "a;b\n");
	text.len = 0;
	sink_folded_stack(&text, record, &resolver);
	sink_buf_add(&text, "", 1);
	assert_string_equal(text.data,
			    "a:b\\012;0x8000;[unknown];Lfoo:\\033[31m\\377;[heap];[lib x.so];"
			    "main;parse_[i];ns::f<a:b>");
	text.len = 0;
	record->n_stack = 2;
	sink_folded_stack(&text, record, NULL);
	sink_buf_add(&text, "", 1);
	assert_string_equal(text.data, "a:b\\012;0x401020;0x401010");
}

static void folded_counts(void **state)
{
	const struct sink_options opt = { .n_cpus = 1 };
	struct event_record gap = { .size = sizeof(gap), .kind = EVENT_LOST, .n_lost = 3 };
	struct sink *sink = sink_new(&sink_folded, &opt);

	(void)state;
	assert_non_null(sink);
	text.len = 0;
	sink_begin(sink, &text);
	record->n_stack = 2;
	strcpy(record->comm, "b");
	sink_record(sink, &text, &make.probe, record);
	sink_record(sink, &text, &make.probe, record);
	strcpy(record->comm, "a");
	sink_record(sink, &text, &make.probe, record);
	record->n_stack = 0;
	sink_record(sink, &text, &make.probe, record);
	sink_record(sink, &text, NULL, &gap);
	sink_lost(sink, &text, 4);
	assert_int_equal(text.len, 0);
	sink_end(sink, &text);
	sink_buf_add(&text, "", 1);
	assert_string_equal(text.data, "a;0x401020;0x401010 1\nb;0x401020;0x401010 2\n");
	assert_int_equal(sink->n_untold, 7);
	assert_false(sink->is_short);
	sink_free(sink);
}

/* Each is found by its name, and tells of a gap as the others do or counts it. */
static void ways_have_names(void **state)
{
	const struct sink_options opt = { .header = true, .n_cpus = 2 };
	static const struct sink_kind *const kinds[] = { &sink_text, &sink_json, &sink_folded };
	struct event_record gap = { .size = sizeof(gap), .kind = EVENT_LOST, .n_lost = 3 };
	size_t header;

	(void)state;
	for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		const struct sink_kind *kind = kinds[n];
		struct sink *sink = sink_new(kind, &opt);

		assert_ptr_equal(kind, sink_kind_find(kind->name));
		assert_non_null(sink);
		text.len = 0;
		sink_begin(sink, &text);
		header = text.len;
		assert_int_equal(header > 0, kind->has_header);
		sink_record(sink, &text, NULL, &gap);
		sink_lost(sink, &text, 3);
		sink_buf_add(&text, "", 1);
		if (kind == &sink_text)
			assert_string_equal(text.data + header,
					    "[LOST 3 EVENTS]\n[LOST 3 EVENTS]\n");
		if (kind == &sink_json)
			assert_string_equal(text.data, "{\"lost\":3}\n{\"lost\":3}\n");
		sink_free(sink);
	}
	assert_null(sink_kind_find("xml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(text_has_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(text_has_its_head, set_up, tear_down),
		cmocka_unit_test_setup_teardown(json_has_objects, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folded_is_one_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(folded_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ways_have_names, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("sink_stack", tests, NULL, NULL);
}
