/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Strings with a length, string[n], and dumps, hex[n]: their text and what is read. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/probe_kind.h"
#include "engine/fetch/fetch.h"
#include "engine/fetch/match.h"
#include "engine/sink/text.h"
#include "engine/spec/filter.h"
#include "engine/spec/table.h"
#include "tests/unit/fake_memory.h"
#include "tests/unit/spec_fixture.h"

#define RDX 12
#define RSI 13
#define RDI 14

static struct ubp_err err;
static struct fake_memory fake;

static struct spec_table *new_table(bool strict)
{
	struct spec_env env = fixture_env(strict);
	struct spec_table *table = spec_table_new(&env);

	assert_non_null(table);
	return table;
}

static void refused(const char *definition, bool strict, const char *text, unsigned caret)
{
	struct spec_table *table = new_table(strict);

	ubp_err_reset(&err);
	assert_int_equal(-EINVAL,
			 spec_table_write(table, definition, strlen(definition), &err));
	assert_string_equal(text, err.text);
	assert_true(err.has_caret);
	assert_int_equal(caret, err.caret);
	spec_table_free(table);
}

static void is_refused_where_it_makes_no_sense(void **state)
{
	(void)state;
	refused("p:e /bin/x:1 s=+0(%si):string[n]", false,
		"No argument of this name stands before it", 30);
	assert_string_equal(
		"n=%dx s=+0(%si):string[n], if %dx tells it; n alone, if it is a variable",
		err.hint);
	refused("p:e /bin/x:1 s=+0(%si):string[n] m=%cx n=%dx", false,
		"No argument of this name stands before it", 30);
	assert_string_equal("put n=%dx before it", err.hint);
	refused("p:e /bin/x:1 s=%si:hex[4]", false, "String accepts only memory argument", 19);
	assert_string_equal("+0(%si):hex[4] is what %si points to", err.hint);
	refused("p:e /bin/x:1 n=+0(%si):string s=+0(%si):string[n]", false,
		"This argument is no number", 47);
	refused("p:e /bin/x:1 n=+0(%si):u8[2] s=+0(%si):hex[n]", false,
		"This argument is no number", 43);
	refused("p:e /bin/x:1 n=%dx s=%si:string[n]", false,
		"String accepts only memory argument", 25);
	refused("p:e /bin/x:1 s=+0(%si):hex", false,
		"hex needs how many bytes: hex[16], or hex[n] with an argument n", 23);
	refused("p:e /bin/x:1 s=+0(%si):hex[0]", false,
		"A dump has 1 to 1024 bytes, or as many as an argument says", 27);
	refused("p:e /bin/x:1 s=+0(%si):hex[1025]", false,
		"A dump has 1 to 1024 bytes, or as many as an argument says", 27);
	refused("p:e /bin/x:1 n=%dx s=+0(%si):string[%dx]", false, "Invalid array size", 36);
	refused("p:e /bin/x:1 n=%dx s=+0(%si):u8[n]", false, "Invalid array size", 32);
	refused("p:e /bin/x:1 n=%dx s=+0(%si):string[n", false, "Array is not closed", 37);
	refused("p:e /bin/x:1 n=%dx s=$comm:string[n]", false,
		"$comm and immediate-string only accepts string type", 27);
}

/* As the kernel says it. */
static void is_unknown_to_strict_grammar(void **state)
{
	(void)state;
	refused("p:e /bin/x:1 n=%dx s=+0(%si):string[n]", true, "Invalid array size", 36);
	refused("p:e /bin/x:1 s=+0(%si):hex[16]", true, "Unknown type is specified", 23);
	refused("p:e /bin/x:1 s=+0(%si):hex", true, "Unknown type is specified", 23);
}

/* @si, @dx: registers. What is printed, and whether @filter_text lets it pass. */
static bool printed(const char *args, uint64_t si, uint64_t dx, const char *want,
		    const char *filter_text)
{
	struct event_record *record = calloc(1, sizeof(*record) + EVENT_DATA_MAX);
	struct fetch_scratch *scratch = fetch_scratch_new();
	struct spec_table *table = new_table(false);
	struct fetch_memory memory = { fake_memory_read, &fake };
	struct ubp_regs regs = { .r = { [RSI] = si, [RDX] = dx } };
	struct fetch_input in = { .arch = ubp_arch_by_name("x86_64"),
				  .regs = &regs,
				  .memory = &memory };
	const struct spec_probe *probe;
	struct fetch_program *program = NULL;
	struct filter *filter = NULL;
	struct sink_buf text = { 0 };
	char definition[200] = "p:e /bin/x:1 ";
	bool passes;
	int len;

	strcat(definition, args);
	ubp_err_reset(&err);
	if (spec_table_write(table, definition, strlen(definition), &err) < 0)
		fail_msg("%s: %s", definition, err.text);
	probe = spec_table_probe(table, 0);
	assert_int_equal(0, fetch_compile(probe, &program, &err));
	len = fetch_run(program, &in, scratch, probe_kind_head(PROBE_ENTRY), record->data);
	assert_true(len > 0);
	record->data_len = (uint32_t)len;
	sink_text_args(&text, probe, record, &(struct sink_text_options){ 0 });
	sink_buf_add(&text, "", 1);
	if (want)
		assert_string_equal(want, text.data);
	if (filter_text && filter_parse(filter_text, probe, &filter, &err) < 0)
		fail_msg("%s: %s", filter_text, err.text);
	passes = filter_match(filter, record);
	filter_free(filter);
	sink_buf_free(&text);
	free(program);
	spec_table_free(table);
	fetch_scratch_free(scratch);
	free(record);
	return passes;
}

static void a_string_has_its_length(void **state)
{
	static const char *const s = "n=%dx:s32 s=+0(%si):string[n]";

	(void)state;
	printed(s, 0x1000, 5, " n=5 s=\"hello\"", NULL);
	printed(s, 0x1000, 3, " n=3 s=\"hel\"", NULL);
	printed(s, 0x1000, 0, " n=0 s=\"\"", NULL);
	/* Nothing is asked of memory then, and a NUL ends it all the same. */
	printed(s, 1, 0, " n=0 s=\"\"", NULL);
	printed(s, 0x1010, 100, " n=100 s=\"two\"", NULL);
	printed(s, 0x1010, 3, " n=3 s=\"two\"", NULL);
	printed(s, 1, 1, " n=1 s=(fault)", NULL);
	printed(s, 0x1000, 0xffffffff, " n=-1 s=(fault)", NULL);
	/* The end of what can be read: no byte behind it. */
	printed(s, 0x2ffc, 4, " n=4 s=\"last\"", NULL);
	printed(s, 0x2ffc, 5, " n=5 s=(fault)", NULL);
	printed("n=%dx:u8 s=+0(%si):string[n] t=+0(%si):string[n]", 0x1000, 0x102,
		" n=2 s=\"he\" t=\"he\"", NULL);
	printed("n=%dx:b4@4/8 s=+0(%si):string[n]", 0x1000, 0x35, " n=3 s=\"hel\"", NULL);
	printed("n=+0x18(%si):u16 s=+0(%si):string[n] all=+0(%si):string", 0x1000, 0,
		" n=2 s=\"he\" all=\"hello world\"", NULL);
	assert_true(printed(s, 0x1000, 4, NULL, "s == \"hell\" && n == 4"));
	assert_false(printed(s, 0x1000, 4, NULL, "s == \"hello\""));
}

static void a_dump_is_digits(void **state)
{
	(void)state;
	printed("s=+0(%si):hex[4]", 0x1000, 0, " s=\"68 65 6c 6c\"", NULL);
	printed("s=+2(%si):hex[1]", 0x1010, 0, " s=\"6f\"", NULL);
	/* Not up to a NUL. */
	printed("n=%dx:u32 s=+2(%si):hex[n]", 0x1010, 4, " n=4 s=\"6f 00 00 00\"", NULL);
	printed("n=%dx:u32 s=+2(%si):hex[n]", 1, 0, " n=0 s=\"\"", NULL);
	printed("s=+0(%si):hex[4] t=+0(%si):hex[5] n=%dx:u8", 0x2ffc, 1,
		" s=\"6c 61 73 74\" t=(fault) n=1", NULL);
	printed("n=%dx s=+0(%si):hex[n]", 0x1000, UINT64_MAX, NULL, NULL);
	assert_true(printed("s=+0(%si):hex[4]", 0x1000, 0, NULL, "s ~ \"68 65*\""));
	/* No more is read than is shown. */
	fake.highest = 0;
	printed("s=+0(%si):hex[4]", 0x1000, 0, NULL, NULL);
	assert_int_equal(0x1003, fake.highest);
}

/* Reading what is behind the length could change the program. */
static void no_more_is_read(void **state)
{
	static const struct {
		const char *args;
		uint64_t si, dx, highest;
	} cases[] = {
		{ "n=%dx s=+0(%si):string[n]", 0x1000, 4, 0x1003 },
		{ "n=%dx s=+0(%si):hex[n]", 0x1000, 4, 0x1003 },
		{ "n=%dx:s32 s=+0(%si):string[n]", 0x1000, 0, 0 },
		{ "n=%dx:s32 s=+0(%si):string[n]", 0x1000, UINT32_MAX, 0 },
		{ "n=\\5 s=+0(%si):string[n]", 0x2000, 0, 0x2004 },
		/* The rest of a page; then none of the next one. */
		{ "n=%dx s=+0(%si):string[n]", 0x10ffc, 4, 0x10fff },
		{ "n=%dx s=+0(%si):string[n]", 0x10ffc, 5, 0x11000 },
		/* The length itself is in memory, behind two more dereferences than the text. */
		{ "n=+0x10(%si):u8 s=+0(%si):string[n]", 0x1008, 0, 0x1018 },
		{ "n=+0(+0(+0(%si))):u8 s=+0(%dx):string[n]", 0x1020, 0x1040, 0x1041 },
		{ "n=$stack0:u8 s=+0(%si):string[n] h=+0(%dx):hex[n]", 0x1080, 0x1090, 0x1091 },
	};

	(void)state;
	memset(fake_memory_map(&fake, 0x10000, 0x3000), 'x', 0x3000);
	memset(fake_memory_map(&fake, 0x3000, 0x1000), 'x', 0x1000);
	fake_memory_put_u64(&fake, 0x1020, 0x1028);
	fake_memory_put_u64(&fake, 0x1028, 0x1018);
	memset(fake_memory_map(&fake, 0, 0x10), 2, 0x10);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.highest = 0;
		printed(cases[i].args, cases[i].si, cases[i].dx, NULL, NULL);
		if (fake.highest != cases[i].highest)
			fail_msg("%s: up to %#llx", cases[i].args,
				 (unsigned long long)fake.highest);
	}
}

/* A huge one fills the record, and none is too big. */
static void is_cut_to_the_room(void **state)
{
	static const char *const lots =
		"n=%dx s=+0(%si):string[n] t=+0(%si):hex[n] u=+0(%si):hex[n]";

	(void)state;
	assert_true(printed(lots, 0x10000, 0x3000, NULL, "n == 0x3000 && s ~ \"xxxx*\""));
	assert_true(
		printed(lots, 0x10000, INT64_MAX, NULL, "t ~ \"78 78*\" && u ~ \"*78 78\""));
	/* The others have what they take. */
	fake_memory_put(&fake, 0x10000 + 3499, "E", 1);
	assert_true(printed("n=%dx s=+0(%si):string[n] a=+0x1000(%si):string[20] b=$comm",
			    0x10000, 3500, NULL, "s ~ \"*E\""));
	assert_true(printed("n=%dx s=+0(%si):string[n]", 0x10000, 5000, NULL, "s ~ \"*x\""));
}

static int map_texts(void **state)
{
	(void)state;
	fake_memory_map(&fake, 0x1000, 0x100);
	fake_memory_map(&fake, 0x2000, 0x1000);
	fake_memory_put_text(&fake, 0x1000, "hello world");
	fake_memory_put_text(&fake, 0x1010, "two");
	fake_memory_put_u64(&fake, 0x1018, 2);
	fake_memory_put(&fake, 0x2ffc, "last", 4);
	return 0;
}

static int unmap(void **state)
{
	(void)state;
	fake_memory_free(&fake);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_refused_where_it_makes_no_sense),
		cmocka_unit_test(is_unknown_to_strict_grammar),
		cmocka_unit_test(a_string_has_its_length),
		cmocka_unit_test(a_dump_is_digits),
		cmocka_unit_test(no_more_is_read),
		cmocka_unit_test(is_cut_to_the_room),
	};

	return cmocka_run_group_tests_name("lengths", tests, map_texts, unmap);
}
