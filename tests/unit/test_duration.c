/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* $duration, from the text of a definition to the text of its value. */

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
#include "tests/unit/spec_fixture.h"

static struct ubp_err err;

static struct spec_table *new_table(bool strict)
{
	struct spec_env env = fixture_env(strict);
	struct spec_table *table = spec_table_new(&env);

	assert_non_null(table);
	return table;
}

/* The only probe of a fresh table. */
static const struct spec_probe *define(struct spec_table *table, const char *definition)
{
	ubp_err_reset(&err);
	if (spec_table_add_short(table, definition, &err) < 0)
		fail_msg("%s: %s", definition, err.text);
	return spec_table_probe(table, spec_table_count(table) - 1);
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

/* " duration=5", and so on; whether @filter lets it pass. */
static bool printed(const char *definition, uint64_t duration_ns, const char *want,
		    const char *filter_text)
{
	struct event_record *record = calloc(1, sizeof(*record) + EVENT_DATA_MAX);
	struct fetch_scratch *scratch = fetch_scratch_new();
	struct spec_table *table = new_table(false);
	const struct spec_probe *probe = define(table, definition);
	struct ubp_regs regs = { 0 };
	struct fetch_input in = {
		.arch = ubp_arch_by_name("x86_64"),
		.regs = &regs,
		.duration_ns = duration_ns,
	};
	struct fetch_program *program = NULL;
	struct filter *filter = NULL;
	struct sink_buf text = { 0 };
	bool passes;

	assert_int_equal(0, fetch_compile(probe, &program, &err));
	assert_int_equal(1, program->needs_duration);
	regs.r[in.arch->reg.retval] = 7;
	record->data_len =
		(uint32_t)fetch_run(program, &in, scratch, probe_kind_head(PROBE_RETURN), record->data);
	assert_int_equal(probe->fixed_size, record->data_len);
	sink_text_args(&text, probe, record, &(struct sink_text_options){ 0 });
	sink_buf_add(&text, "", 1);
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

static void has_a_name_and_a_type(void **state)
{
	struct spec_table *table = new_table(false);
	const struct spec_probe *probe =
		define(table, "r:prog:main $duration $retval $duration:x32 d=$duration");

	(void)state;
	assert_string_equal("duration", probe->args[0].name);
	assert_int_equal(SPEC_DURATION, probe->args[0].source);
	assert_int_equal(SPEC_UNSIGNED, probe->args[0].type.format);
	assert_int_equal(8, probe->args[0].type.size);
	assert_true(probe->args[0].type.is_default);
	assert_string_equal("arg2", probe->args[1].name);
	/* The name is taken. */
	assert_string_equal("arg3", probe->args[2].name);
	assert_int_equal(SPEC_HEX, probe->args[2].type.format);
	assert_int_equal(4, probe->args[2].type.size);
	assert_string_equal("d", probe->args[3].name);
	assert_string_equal("r:uprobes/main /usr/bin/prog:main duration=$duration arg2=$retval "
			    "arg3=$duration:x32 d=$duration",
			    fixture_listing(table));
	define(table, "p:e prog:main%return $duration");
	spec_table_free(table);
}

static void is_refused_where_it_makes_no_sense(void **state)
{
	(void)state;
	refused("p:e /bin/x:1 %di d=$duration", false,
		"$duration is known only where a function returns (r:... or %return)", 19);
	refused("r:e /bin/x:1 +8($duration)", false, "$duration can not be dereferenced", 16);
	refused("r:e /bin/x:1 $duration:string", false, "String accepts only memory argument",
		23);
	refused("r:e /bin/x:1 $duration:u8[4]", false, "String accepts only memory argument",
		23);
	refused("r:e /bin/x:1 $durations", false, "Invalid $-variable specified", 13);
	refused("r:e /bin/x:1 $duration:b3@7/8", false, "Invalid bitfield", 23);
	refused("r:e /bin/x:1 duration=%di duration=$duration", false,
		"This argument name is already used", 26);
}

/* As the kernel says it. */
static void is_unknown_to_strict_grammar(void **state)
{
	(void)state;
	refused("r:e /bin/x:1 $duration", true, "Invalid $-variable specified", 13);
	refused("r:e /bin/x:1 d=$duration:u32", true, "Invalid $-variable specified", 15);
	refused("p:e /bin/x:1 $duration", true, "Invalid $-variable specified", 13);
	refused("r:e /bin/x:1 +8($duration)", true, "Invalid $-variable specified", 16);
}

static void is_stored_like_any_number(void **state)
{
	(void)state;
	printed("r:prog:main $duration", 0, " duration=0", NULL);
	printed("r:prog:main $duration", UINT64_MAX, " duration=18446744073709551615", NULL);
	printed("r:prog:main r=$retval:u8 d=$duration:u32 $duration:x64 $duration:s16",
		0x1234567fffeULL, " r=7 d=1164443646 duration=0x1234567fffe arg4=-2", NULL);
	printed("r:prog:main us=$duration:b54@10/64 low=$duration:b4@4/8", 0x12345678,
		" us=298261 low=7", NULL);
}

static void is_known_to_filters(void **state)
{
	static const char *const big = "r:prog:main d=$duration";

	(void)state;
	assert_false(printed(big, 1000000, " d=1000000", "d > 1000000"));
	assert_true(printed(big, 1000001, " d=1000001", "d > 1000000"));
	assert_true(printed(big, 5000000000, " d=5000000000", "d > 1000000"));
	assert_true(printed(big, 5000000000, " d=5000000000", "d >= 5000000000 && !(d == 7)"));
	assert_true(printed("r:prog:main $duration", 3, " duration=3", "duration < 4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_a_name_and_a_type),
		cmocka_unit_test(is_refused_where_it_makes_no_sense),
		cmocka_unit_test(is_unknown_to_strict_grammar),
		cmocka_unit_test(is_stored_like_any_number),
		cmocka_unit_test(is_known_to_filters),
	};

	return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
