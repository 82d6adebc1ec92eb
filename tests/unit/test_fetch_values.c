/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The corpus of values without a process: what the kernel printed for each row
 * of tests/corpus/values.jsonl must come out of interpreter and text sink. Left
 * out are the rows that look at code or at the file's own bytes, and nothing is
 * demanded of those whose answer was an accident.
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
#include "engine/fetch/fetch.h"
#include "engine/sink/text.h"
#include "tests/unit/arena.h"
#include "tests/unit/probe_make.h"

struct fixture {
	struct fetch_scratch *scratch;
	struct event_record *record;
	struct sink_buf text;
	struct probe_make make;
	struct arena arena;
	unsigned n_rows, n_hits;
};

/*
 * The corpus writes byte XX that is not UTF-8 as \udcXX, which JSON readers
 * refuse. Read it as U+F7XX, which nothing else in the corpus uses.
 */
static void mark_raw_bytes(char *line)
{
	for (char *p = line; (p = strstr(p, "\\udc")); p += 4)
		memcpy(p, "\\uf7", 4);
}

/* Undo the mark: back to the bytes the kernel printed. Returns their number. */
static size_t raw_bytes(const json_t *string, char *to)
{
	const uint8_t *s = (const uint8_t *)json_string_value(string);
	size_t len = json_string_length(string), n = 0;

	for (size_t i = 0; i < len; i++) {
		/* U+F7XX is ef 9c..9f 80..bf */
		if (s[i] == 0xef && i + 2 < len && (s[i + 1] & 0xfc) == 0x9c) {
			to[n++] = (char)((s[i + 1] & 3) << 6 | (s[i + 2] & 0x3f));
			i += 2;
		} else {
			to[n++] = (char)s[i];
		}
	}
	return n;
}

static bool needs_the_program(const char *args)
{
	return strstr(args, "@+") || strstr(args, "(%ip)");
}

/* Run one hit and print its args. Returns false when the record is dropped. */
static bool print_hit(struct fixture *f, const struct fetch_program *program,
		      const struct ubp_regs *regs, const char *comm)
{
	const struct fetch_memory memory = { fake_memory_read, &f->arena.memory };
	const struct fetch_input in = {
		.arch = ubp_arch_by_name("x86_64"),
		.regs = regs,
		.memory = &memory,
		.hit_vaddr = 0x4016e0,
		.comm = comm,
	};
	size_t head = probe_kind_head(f->make.probe.kind);
	int len = fetch_run(program, &in, f->scratch, head, f->record->data);

	if (len == -E2BIG)
		return false;
	assert_true(len >= 0);
	f->record->data_len = (uint32_t)len;
	f->text.len = 0;
	sink_text_args(&f->text, &f->make.probe, f->record, &(struct sink_text_options){ 0 });
	return true;
}

static void check_row(struct fixture *f, const json_t *row)
{
	const char *point = json_string_value(json_object_get(row, "point"));
	const char *args = json_string_value(json_object_get(row, "args"));
	const char *id = json_string_value(json_object_get(row, "id"));
	const json_t *hits = json_object_get(row, "hits");
	bool is_free = json_object_get(row, "undefined") != NULL;
	struct fetch_program *program;
	struct ubp_err err;
	struct ubp_regs regs;
	const char *comm;
	size_t n = 0;

	probe_make(&f->make, json_string_value(json_object_get(row, "type"))[0] == 'r', args);
	assert_int_equal(0, fetch_compile(&f->make.probe, &program, &err));
	arena_init(&f->arena, point);
	for (size_t i = 0; arena_hit(&f->arena, point, i, &regs, &comm); i++) {
		const json_t *want = json_object_get(json_array_get(hits, n), "args");
		char bytes[16384];
		size_t len;

		if (!print_hit(f, program, &regs, comm))
			continue;
		n++;
		if (is_free)
			continue;
		assert_non_null(want);
		assert_true(json_string_length(want) < sizeof(bytes));
		len = raw_bytes(want, bytes);
		if (len != f->text.len || memcmp(bytes, f->text.data, len) != 0)
			fail_msg("%s hit %zu '%s':\n  kernel: %.*s\n  ours:   %.*s", id, i,
				 args, (int)len, bytes, (int)f->text.len, f->text.data);
		f->n_hits++;
	}
	if (n != json_array_size(hits))
		fail_msg("%s '%s': %zu hits, the kernel has %zu", id, args, n,
			 json_array_size(hits));
	fake_memory_free(&f->arena.memory);
	free(program);
	f->n_rows++;
}

static void check_corpus(void **state)
{
	const char *src = getenv("UBP_SRC");
	struct fixture *f = *state;
	char path[4096], *line = NULL;
	size_t cap = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/corpus/values.jsonl", src ? src : ".");
	file = fopen(path, "r");
	assert_non_null(file);
	while (getline(&line, &cap, file) > 0) {
		json_error_t error;
		json_t *row;
		const char *args;

		mark_raw_bytes(line);
		row = json_loads(line, JSON_ALLOW_NUL, &error);
		if (!row)
			fail_msg("%s: %s", path, error.text);
		args = json_string_value(json_object_get(row, "args"));
		if (!needs_the_program(args))
			check_row(f, row);
		json_decref(row);
	}
	free(line);
	fclose(file);
	/* Not that a change of the corpus's form makes this test pass by doing nothing. */
	assert_true(f->n_rows > 180);
	assert_true(f->n_hits > 900);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->scratch = fetch_scratch_new();
	f->record = calloc(1, sizeof(*f->record) + EVENT_DATA_MAX);
	*state = f;
	return f->scratch && f->record ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sink_buf_free(&f->text);
	fetch_scratch_free(f->scratch);
	free(f->record);
	free(f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(check_corpus, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("fetch_values", tests, NULL, NULL);
}
