/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lines as the kernel's tracer writes them. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/sink/text.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

struct fixture {
	struct probe_make make;
	struct event_record *record;
	struct sink_buf text;
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

	sink_buf_free(&f->text);
	free(f->record);
	free(f);
	return 0;
}

static const char *line(struct fixture *f, bool escape)
{
	const struct sink_text_options opt = { .escape = escape };

	f->text.len = 0;
	sink_text_line(&f->text, &f->make.probe, f->record, &opt);
	sink_buf_add(&f->text, "", 1);
	assert_int_equal(0, f->text.failed);
	return f->text.data;
}

static const char *args(struct fixture *f, bool escape)
{
	const struct sink_text_options opt = { .escape = escape };

	f->text.len = 0;
	sink_text_args(&f->text, &f->make.probe, f->record, &opt);
	sink_buf_add(&f->text, "", 1);
	return f->text.data;
}

static void numbers(void **state)
{
	static const struct {
		const char *type;
		uint64_t value;
		const char *want;
	} vectors[] = {
		{ "u8", 255, "255" },
		{ "u16", 0xfffe, "65534" },
		{ "u32", 0xffffffff, "4294967295" },
		{ "u64", UINT64_MAX, "18446744073709551615" },
		{ "u64", 10000000000000000000u, "10000000000000000000" },
		{ "s8", 0x80, "-128" },
		{ "s8", 0x7f, "127" },
		{ "s16", 0x8000, "-32768" },
		{ "s32", 0xffffffff, "-1" },
		{ "s64", UINT64_C(1) << 63, "-9223372036854775808" },
		{ "s64", INT64_MAX, "9223372036854775807" },
		{ "s64", 0, "0" },
		{ "x8", 0, "0x0" },
		{ "x8", 0xf, "0xf" },
		{ "x16", 0x10, "0x10" },
		{ "x32", 0x80000000, "0x80000000" },
		{ "x64", UINT64_MAX, "0xffffffffffffffff" },
		{ "x64", 0x1000, "0x1000" },
		{ "b4@4/8", 9, "9" },
		{ "char", 'A', "'A'" },
		{ "char", '\'', "'''" },
		{ "char", '\n', "'\n'" },
		{ "char", 0xe9, "'\xe9'" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMS(vectors); i++) {
		char def[64], want[64];

		snprintf(def, sizeof(def), "v=%%di:%s", vectors[i].type);
		snprintf(want, sizeof(want), " v=%s", vectors[i].want);
		probe_make(&f->make, false, def);
		record_clear(f->record, &f->make.probe);
		record_put(f->record, &f->make.probe, 0, 0, vectors[i].value);
		assert_string_equal(want, args(f, false));
	}
}

static void nul_char(void **state)
{
	struct fixture *f = *state;

	probe_make(&f->make, false, "c=%di:char");
	record_clear(f->record, &f->make.probe);
	args(f, false);
	assert_memory_equal(" c='\0'", f->text.data, 7);
	assert_string_equal(" c='\\000'", args(f, true));
}

static void arrays(void **state)
{
	struct fixture *f = *state;

	probe_make(&f->make, false, "a=+0(%di):s16[3] b=@0:char[2] c=@0:x8[1] d=@0:string[3]");
	record_clear(f->record, &f->make.probe);
	record_put(f->record, &f->make.probe, 0, 0, 1);
	record_put(f->record, &f->make.probe, 0, 1, 0xffff);
	record_put(f->record, &f->make.probe, 1, 0, 'x');
	record_put(f->record, &f->make.probe, 1, 1, 'y');
	record_put_string(f->record, &f->make.probe, 3, 0, "a", 1);
	record_put_string(f->record, &f->make.probe, 3, 1, "", 0);
	assert_string_equal(" a={1,-1,0} b={'x','y'} c={0x0} d={\"a\",\"\",(fault)}",
			    args(f, false));
}

/* Nothing is escaped for a file, all that could move a cursor is for a terminal. */
static void strings(void **state)
{
	static const struct {
		const char *bytes, *escaped;
	} vectors[] = {
		{ "plain", "plain" },
		{ "say \"hi\" \\ {a,b}", "say \"hi\" \\ {a,b}" },
		{ "new\nline\ttab", "new\\012line\\011tab" },
		{ "\x1b[31mred\x7f", "\\033[31mred\\177" },
		{ "caf\xe9", "caf\\351" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x9b"
		  "31m",
		  "\\302\\23331m" }, /* a C1 control: CSI */
		{ "\xc0\xaf \xe0\x80\xaf", "\\300\\257 \\340\\200\\257" }, /* overlong */
		{ "\xed\xa0\x80", "\\355\\240\\200" },			   /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\364\\220\\200\\200" },		   /* beyond U+10FFFF */
		{ "\xe2\x82", "\\342\\202" },				   /* cut short */
		{ "\xe2\x82z", "\\342\\202z" },
		{ "\x80\xff", "\\200\\377" },
	};
	struct fixture *f = *state;

	probe_make(&f->make, false, "s=@0:string");
	for (size_t i = 0; i < N_ELEMS(vectors); i++) {
		char want[128];

		record_clear(f->record, &f->make.probe);
		record_put_string(f->record, &f->make.probe, 0, 0, vectors[i].bytes,
				  strlen(vectors[i].bytes));
		snprintf(want, sizeof(want), " s=\"%s\"", vectors[i].bytes);
		assert_string_equal(want, args(f, false));
		snprintf(want, sizeof(want), " s=\"%s\"", vectors[i].escaped);
		assert_string_equal(want, args(f, true));
	}
}

/* A record that was damaged in a target must not lead the sink out of it. */
static void damaged(void **state)
{
	struct fixture *f = *state;
	struct event_record *record = f->record;

	probe_make(&f->make, false, "s=@0:string t=@0:string n=%di:u64");
	record_clear(record, &f->make.probe);
	record_put(record, &f->make.probe, 0, 0, 5u << 16 | 0xffff);  /* far out */
	record_put(record, &f->make.probe, 1, 0, 0xffffu << 16 | 14); /* no NUL in the data */
	record_put(record, &f->make.probe, 2, 0, 0x4141414141414141);
	assert_string_equal(" s=(fault) t=\"AA\" n=4702111234474983745", args(f, false));
	record->data_len = 2;
	assert_string_equal(" s=(fault) t=(fault) n=0", args(f, false));
}

static void whole_lines(void **state)
{
	struct fixture *f = *state;
	struct event_record *record = f->record;

	probe_make(&f->make, false, "n=%di:s32 s=@0:string");
	record_clear(record, &f->make.probe);
	record_put(record, &f->make.probe, 0, 0, (uint32_t)-7);
	record_put_string(record, &f->make.probe, 1, 0, "x", 1);
	assert_string_equal(
		"          valtgt-21521   [000] .....  3927.545993: evt: (0x4017c0) "
		"n=-7 s=\"x\"\n",
		line(f, false));
	probe_make(&f->make, true, "");
	record->func = 0x4017c0;
	record->ip = 0x4016c6;
	record->cpu = 12;
	record->tid = 12345678;
	assert_string_equal(
		"          valtgt-12345678 [012] .....  3927.545993: evt: (0x4016c6 <- "
		"0x4017c0)\n",
		line(f, false));
	strcpy(record->comm, "123456789012345");
	record->tid = 1;
	record->cpu = 1234;
	record->time = UINT64_C(123456789000000499); /* rounded down */
	assert_string_equal(
		" 123456789012345-1       [1234] ..... 123456789.000000: evt: (0x4016c6 <- "
		"0x4017c0)\n",
		line(f, false));
	strcpy(record->comm, "a\nb");
	record->cpu = 3;
	record->time = UINT64_C(1999999500); /* up, into the next second */
	assert_string_equal(
		"             a\\012b-1       [003] .....     2.000000: evt: (0x4016c6 <- "
		"0x4017c0)\n",
		line(f, true));
}

static void stack_lines(void **state)
{
	static const uint64_t stack[] = { 0x4004f4, 0x7fca9f0e376d, 0, UINT64_MAX };
	struct fixture *f = *state;

	probe_make(&f->make, false, "c=%di:u8");
	record_clear(f->record, &f->make.probe);
	record_put_stack(f->record, stack, N_ELEMS(stack));
	assert_string_equal(
		"          valtgt-21521   [000] .....  3927.545993: evt: (0x4017c0) c=0\n"
		"          valtgt-21521   [000] .....  3927.545993: <user stack trace>\n"
		" =>  <00000000004004f4>\n"
		" =>  <00007fca9f0e376d>\n"
		" =>  <0000000000000000>\n"
		" =>  <ffffffffffffffff>\n",
		line(f, false));
}

static void lost(void **state)
{
	struct fixture *f = *state;

	f->record->kind = EVENT_LOST;
	f->record->n_lost = 1234567;
	f->text.len = 0;
	sink_text_line(&f->text, NULL, f->record, &(struct sink_text_options){ 0 });
	sink_buf_add(&f->text, "", 1);
	assert_string_equal("[LOST 1234567 EVENTS]\n", f->text.data);
}

/* The header is the one in the corpus, but for the numbers. */
static void header(void **state)
{
	struct fixture *f = *state;
	const char *src = getenv("UBP_SRC");
	char path[4096], want[4096] = "", row[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/corpus/trace_samples.txt", src ? src : ".");
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(row, sizeof(row), file)) {
		if (row[0] == '#')
			strcat(want, row);
		else if (want[0])
			break; /* behind the first header, that of an empty trace */
	}
	fclose(file);
	sink_text_header(&f->text, 0, 0, 2);
	sink_buf_add(&f->text, "", 1);
	assert_string_equal(want, f->text.data);
	f->text.len = 0;
	sink_text_header(&f->text, 17, 1234567890123, 64);
	sink_buf_add(&f->text, "", 1);
	assert_non_null(strstr(f->text.data, "\n# entries-in-buffer/entries-written: "
					     "17/1234567890123   #P:64\n#\n"));
}

/* Whatever stands in them; thread ids of 32 bits and processors beyond 999 do not come on Linux as it is configured. */
static void columns(void **state)
{
	static const struct {
		const char *comm;
		int32_t tid;
		uint32_t cpu;
	} rows[] = { { "a", 1, 0 },
		     { "fifteen letters", 4194304, 999 },
		     { "task", 12345, 64 },
		     { "\x1b", 7, 7 },
		     { "", 77, 8 } };
	struct fixture *f = *state;
	size_t cpu_at = 0, time_at = 0, name_at = 0;

	probe_make(&f->make, false, "");
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		const char *text;

		record_clear(f->record, &f->make.probe);
		memset(f->record->comm, 0, sizeof(f->record->comm));
		strcpy(f->record->comm, rows[i].comm);
		f->record->tid = rows[i].tid;
		f->record->cpu = rows[i].cpu;
		f->record->time = i % 2 ? 99999999999000 : 1;
		text = line(f, false);
		if (i) {
			assert_int_equal(strchr(text, '[') - text, cpu_at);
			assert_int_equal(strrchr(text, '.') - text, time_at);
			assert_int_equal(strstr(text, ": (0x") - text, name_at);
		}
		cpu_at = (size_t)(strchr(text, '[') - text);
		time_at = (size_t)(strrchr(text, '.') - text);
		name_at = (size_t)(strstr(text, ": (0x") - text);
	}
}

static void buffer_grows(void **state)
{
	struct fixture *f = *state;
	struct sink_buf *buf = &f->text;
	size_t len;

	for (int i = 0; i < 1000; i++)
		sink_buf_printf(buf, "%d %s;", i, "text");
	sink_buf_add(buf, "", 1);
	assert_string_equal("999 text;", buf->data + strlen(buf->data) - 9);
	/* After a failure the rest is dropped, not put behind a gap. */
	buf->failed = -ENOMEM;
	assert_null(sink_buf_room(buf, 1));
	len = buf->len;
	sink_buf_add(buf, "x", 1);
	sink_buf_printf(buf, "%d", 1);
	assert_int_equal(len, buf->len);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(numbers), TEST(nul_char),     TEST(arrays),      TEST(strings),
		TEST(damaged), TEST(whole_lines),  TEST(stack_lines), TEST(lost),
		TEST(header),  TEST(buffer_grows), TEST(columns),
	};

	return cmocka_run_group_tests_name("sink_text", tests, NULL, NULL);
}
