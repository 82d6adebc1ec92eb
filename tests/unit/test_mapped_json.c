/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Mappings of a recording: there and back, and from JSON that somebody else has made. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/recording/mapped_json.h"

static struct mapped_set *set_of(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	struct mapped_set *set;

	assert_non_null(json);
	set = mapped_set_of_json(json);
	assert_non_null(set);
	json_decref(json);
	return set;
}

static void there_and_back(void **state)
{
	const struct mapped_code codes[] = {
		{ 0x7f0000402000, 0x7f0000409000, 0x2000, "/usr/lib/libb.so", true, 0x3000,
		  "0badcafe" },
		{ 0x400000, 0x401000, 0, "/bin/a", true, 0x400000, "" },
		{ 0x500000, 0x501000, 0, "", false, 0, "" },
	};
	json_t *list = json_array(), *json;
	const struct mapped_code *found;
	struct mapped_set *set;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(json_array_append_new(list, mapped_code_to_json(&codes[i])),
				 0);
	json = json_pack("{s:o}", "mappings", list);
	set = mapped_set_of_json(json);
	json_decref(json);
	for (size_t i = 0; i < 3; i++) {
		assert_null(mapped_set_at(set, codes[i].start - 1));
		assert_null(mapped_set_at(set, codes[i].end));
		found = mapped_set_at(set, codes[i].end - 1);
		assert_ptr_equal(found, mapped_set_at(set, codes[i].start));
		assert_int_equal(found->start, codes[i].start);
		assert_int_equal(found->foffset, codes[i].foffset);
		assert_string_equal(found->path, codes[i].path);
		assert_int_equal(found->is_known, codes[i].is_known);
		assert_int_equal(found->elf_vaddr, codes[i].elf_vaddr);
		assert_string_equal(found->build_id, codes[i].build_id);
	}
	mapped_set_free(set);
}

static void makes_no_sense(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{\"mappings\":7}",
		"{\"mappings\":[1,null,[],{}]}",
		"{\"mappings\":[{\"start\":5,\"end\":5,\"file\":\"x\"}]}",
		"{\"mappings\":[{\"start\":6,\"end\":5,\"file\":\"x\"}]}",
		"{\"mappings\":[{\"start\":1,\"end\":9,\"file\":4}]}",
		"{\"mappings\":[{\"start\":\"1\",\"end\":true,\"file\":\"x\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mapped_set *set = set_of(texts[i]);

		for (uint64_t vaddr = 0; vaddr < 16; vaddr++)
			assert_null(mapped_set_at(set, vaddr));
		assert_null(mapped_set_at(set, UINT64_MAX));
		mapped_set_free(set);
	}
	assert_null(mapped_set_at(NULL, 0));
	mapped_set_free(NULL);
}

static void too_long_an_id(void **state)
{
	char text[1000] = "{\"mappings\":[{\"start\":1,\"end\":9,\"file\":\"x\",\"file_at\":3,"
			  "\"build_id\":\"";
	struct mapped_set *set;

	(void)state;
	memset(text + strlen(text), 'a', 500);
	strcat(text, "\"}]}");
	set = set_of(text);
	assert_int_equal(strlen(mapped_set_at(set, 1)->build_id), BUILD_ID_TEXT - 1);
	mapped_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(makes_no_sense),
		cmocka_unit_test(too_long_an_id),
	};

	return cmocka_run_group_tests_name("mapped_json", tests, NULL, NULL);
}
