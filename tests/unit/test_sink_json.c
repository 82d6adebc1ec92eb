/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Every line must be what a JSON reader (jansson) takes for the values we put in. */

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/escape.h"
#include "engine/sink/json.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

struct fixture {
	struct probe_make make;
	struct event_record *record;
	struct sink_buf text;
	json_t *json;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->record = record_make();
	*state = f;
	return f->record ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	json_decref(f->json);
	sink_buf_free(&f->text);
	free(f->record);
	free(f);
	return 0;
}

/* The text of the line, and the line read back in f->json. */
static const char *line(struct fixture *f, size_t flags)
{
	json_error_t error;
	uint32_t code;

	f->text.len = 0;
	sink_json_line(&f->text, &f->make.probe, f->record, NULL);
	assert_int_equal(0, f->text.failed);
	assert_int_equal('\n', f->text.data[f->text.len - 1]);
	for (size_t i = 0, n; i < f->text.len - 1; i += n) {
		n = utf8_sequence((uint8_t *)f->text.data + i, f->text.len - i, &code);
		assert_true(n > 0 && !utf8_is_unsafe(code));
	}
	json_decref(f->json);
	f->json = json_loadb(f->text.data, f->text.len,
			     JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | flags, &error);
	sink_buf_add(&f->text, "", 1);
	if (!f->json)
		fail_msg("%s: %s", error.text, f->text.data);
	return f->text.data;
}

static const json_t *arg(const struct fixture *f, const char *name)
{
	return json_object_get(json_object_get(f->json, "args"), name);
}

static void whole_lines(void **state)
{
	struct fixture *f = *state;

	probe_make(&f->make, false, "n=%di:s32 x=%si");
	record_clear(f->record, &f->make.probe);
	record_put(f->record, &f->make.probe, 0, 0, (uint32_t)-7);
	record_put(f->record, &f->make.probe, 1, 0, 0xab);
	assert_string_equal(
		"{\"time\":3927.545992501,\"task\":\"valtgt\",\"pid\":21520,\"tid\":21521,"
		"\"cpu\":0,\"group\":\"grp\",\"event\":\"evt\",\"type\":\"p\","
		"\"ip\":\"0x4017c0\",\"args\":{\"n\":-7,\"x\":\"0xab\"}}\n",
		line(f, 0));
	probe_make(&f->make, true, "");
	f->record->ip = 0x4016c6;
	f->record->func = 0x4017c0;
	f->record->time = 7;
	assert_string_equal(
		"{\"time\":0.000000007,\"task\":\"valtgt\",\"pid\":21520,\"tid\":21521,"
		"\"cpu\":0,\"group\":\"grp\",\"event\":\"evt\",\"type\":\"r\","
		"\"func\":\"0x4017c0\",\"ret_ip\":\"0x4016c6\",\"args\":{}}\n",
		line(f, 0));
}

static void numbers(void **state)
{
	struct fixture *f = *state;

	probe_make(&f->make, false,
		   "a=%di:u64 b=%di:s64 c=%di:u8 d=%di:x64 e=@0:s8[3] g=@0:x16[2]");
	record_clear(f->record, &f->make.probe);
	record_put(f->record, &f->make.probe, 0, 0, INT64_MAX);
	record_put(f->record, &f->make.probe, 1, 0, UINT64_C(1) << 63);
	record_put(f->record, &f->make.probe, 2, 0, 200);
	record_put(f->record, &f->make.probe, 3, 0, UINT64_MAX);
	record_put(f->record, &f->make.probe, 4, 1, 0x80);
	record_put(f->record, &f->make.probe, 5, 1, 0xbeef);
	line(f, 0);
	assert_true(json_integer_value(arg(f, "a")) == INT64_MAX);
	assert_true(json_integer_value(arg(f, "b")) == INT64_MIN);
	assert_int_equal(200, json_integer_value(arg(f, "c")));
	assert_string_equal("0xffffffffffffffff", json_string_value(arg(f, "d")));
	assert_int_equal(3, json_array_size(arg(f, "e")));
	assert_int_equal(-128, json_integer_value(json_array_get(arg(f, "e"), 1)));
	assert_string_equal("0xbeef", json_string_value(json_array_get(arg(f, "g"), 1)));
	/* jansson's integers end at 2^63, JSON's do not. */
	record_put(f->record, &f->make.probe, 0, 0, UINT64_MAX);
	assert_non_null(
		strstr(line(f, JSON_DECODE_INT_AS_REAL), "\"a\":18446744073709551615,"));
}

static void strings(void **state)
{
	static const struct {
		const char *bytes, *want;
	} vectors[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "say \"hi\" \\n /", "say \"hi\" \\n /" },
		{ "\x01\b\f\n\r\t\x1b\x1f\x7f", "\x01\b\f\n\r\t\x1b\x1f\x7f" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x9b" "31m \xe2\x80\xae \xe2\x80\xa8",
		  "\xc2\x9b" "31m \xe2\x80\xae \xe2\x80\xa8" },
		{ "caf\xe9", "caf\\xe9" },
		{ "\xff\xfe\x80", "\\xff\\xfe\\x80" },
		{ "\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xe2\x82", "\\xe2\\x82" },
	};
	struct fixture *f = *state;

	probe_make(&f->make, false, "s=@0:string t=$comm");
	for (size_t i = 0; i < N_ELEMS(vectors); i++) {
		record_clear(f->record, &f->make.probe);
		record_put_string(f->record, &f->make.probe, 0, 0, vectors[i].bytes,
				  strlen(vectors[i].bytes));
		strncpy(f->record->comm, vectors[i].bytes, sizeof(f->record->comm) - 1);
		line(f, 0);
		assert_string_equal(vectors[i].want, json_string_value(arg(f, "s")));
		assert_true(json_is_null(arg(f, "t")));
	}
}

/* Every byte as a char, and in a string with a neighbour that could join it. */
static void all_bytes(void **state)
{
	struct fixture *f = *state;

	probe_make(&f->make, false, "c=@0:char[2] s=@0:string");
	for (unsigned c = 0; c < 256; c++) {
		const char pair[2] = { (char)c, (char)0xa9 };
		const json_t *chars;
		char want[8];

		record_clear(f->record, &f->make.probe);
		record_put(f->record, &f->make.probe, 0, 0, c);
		record_put(f->record, &f->make.probe, 0, 1, 'z');
		record_put_string(f->record, &f->make.probe, 1, 0, pair, 2);
		line(f, 0);
		chars = arg(f, "c");
		assert_string_equal("z", json_string_value(json_array_get(chars, 1)));
		snprintf(want, sizeof(want), c < 0x80 ? "%c" : "\\x%02x", c);
		assert_int_equal(c < 0x80 ? 1 : 4,
				 json_string_length(json_array_get(chars, 0)));
		assert_memory_equal(want, json_string_value(json_array_get(chars, 0)),
				    c ? strlen(want) : 1);
		if (c >= 0xc2 && c < 0xe0)
			assert_memory_equal(pair, json_string_value(arg(f, "s")), 2);
	}
}

static void stack_and_lost(void **state)
{
	static const uint64_t stack[] = { 0x4004f4, 0x7fca9f0e376d };
	struct fixture *f = *state;
	const json_t *entries;

	probe_make(&f->make, false, "c=%di:u8 d=@0:string[2]");
	record_clear(f->record, &f->make.probe);
	record_put_string(f->record, &f->make.probe, 1, 1, "x", 1);
	record_put_stack(f->record, stack, N_ELEMS(stack));
	line(f, 0);
	assert_true(json_is_null(json_array_get(arg(f, "d"), 0)));
	assert_string_equal("x", json_string_value(json_array_get(arg(f, "d"), 1)));
	entries = json_object_get(f->json, "stack");
	assert_int_equal(2, json_array_size(entries));
	assert_string_equal("0x4004f4", json_string_value(json_array_get(entries, 0)));
	assert_string_equal("0x7fca9f0e376d", json_string_value(json_array_get(entries, 1)));
	f->record->kind = EVENT_LOST;
	f->record->n_lost = 42;
	assert_string_equal("{\"lost\":42}\n", line(f, 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(whole_lines), TEST(numbers),	 TEST(strings),
		TEST(all_bytes),   TEST(stack_and_lost),
	};

	return cmocka_run_group_tests_name("sink_json", tests, NULL, NULL);
}
