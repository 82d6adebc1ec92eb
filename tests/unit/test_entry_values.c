/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* entry(FETCHARG), from the text of a definition to what is read at the entry and at the return. */

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
#include "engine/sink/text.h"
#include "engine/spec/table.h"
#include "tests/unit/fake_memory.h"
#include "tests/unit/spec_fixture.h"

#define RSI 13
#define RSP 19
#define RDI 14
#define RAX 10

static struct ubp_err err;
static struct fake_memory fake;

static struct spec_table *new_table(bool strict)
{
	struct spec_env env = fixture_env(strict);
	struct spec_table *table = spec_table_new(&env);

	assert_non_null(table);
	return table;
}

static const struct spec_probe *define(struct spec_table *table, const char *definition)
{
	ubp_err_reset(&err);
	if (spec_table_write(table, definition, strlen(definition), &err) < 0)
		fail_msg("%s: %s", definition, err.text);
	return spec_table_probe(table, spec_table_count(table) - 1);
}

static void refused(const char *definition, bool strict, int code, const char *text,
		    unsigned caret, const char *hint)
{
	struct spec_table *table = new_table(strict);

	ubp_err_reset(&err);
	assert_int_equal(-code, spec_table_write(table, definition, strlen(definition), &err));
	assert_string_equal(text, err.text);
	assert_true(err.has_caret);
	assert_int_equal(caret, err.caret);
	if (hint)
		assert_string_equal(hint, err.hint);
	spec_table_free(table);
}

static void is_refused_where_it_makes_no_sense(void **state)
{
	(void)state;
	refused("p:e /bin/x:1 %di d=entry(%si)", false, EINVAL,
		"entry() is known only where a function returns (r:... or %return)", 19,
		"where it is entered, %si is that value");
	refused("r:e /bin/x:1 +8(entry(entry(%si)))", false, EINVAL,
		"entry() stands inside of another one", 22, "entry(%si) is enough");
	refused("r:e /bin/x:1 entry($retval)", false, EINVAL,
		"entry() takes what is known where a function is entered", 19, NULL);
	refused("r:e /bin/x:1 entry($duration)", false, EINVAL,
		"entry() takes what is known where a function is entered", 19, NULL);
	refused("r:e /bin/x:1 entry($comm)", false, EINVAL,
		"entry() takes what is known where a function is entered", 19, NULL);
	refused("r:e /bin/x:1 a=entry(%si", false, EINVAL, "Brace of entry() is not closed", 24,
		NULL);
	refused("r:e /bin/x:1 a=entry(%si)+8", false, EINVAL,
		"Nothing but a type can follow entry()", 25, NULL);
	refused("r:e /bin/x:1 a=entry(%rsi)", false, EINVAL, "Invalid register name", 21, NULL);
	refused("r:e /bin/x:1 a=entry(%si):string", false, EINVAL,
		"String accepts only memory argument", 26,
		"+0(entry(%si)):string is the text that entry(%si) points to");
	refused("r:e /bin/x:1 a=entry(+0(%si)):u8[4]", false, EINVAL,
		"String accepts only memory argument", 30, NULL);
	refused("r:e /bin/x:1 a=entry(\\3)", false, EINVAL,
		"entry() takes a register, a word of the stack, memory or argN", 21, NULL);
	refused("r:e /bin/x:1 a=entry(buf)", false, EINVAL,
		"entry() takes a register, a word of the stack, memory or argN", 21, NULL);
	refused("r:e /bin/x:1 entry(%di) entry(%si) entry(%dx) entry(%cx) entry(%r8) "
		"entry(%r9) "
		"entry(%bx) entry(%bp) again=entry(%di) x=entry(%r10)",
		false, E2BIG, "Too many values of the entry, 8 are kept for each call", 120,
		NULL);
}

static void is_unknown_to_strict_grammar(void **state)
{
	(void)state;
	refused("r:e /bin/x:1 a=entry(%si)", true, EINVAL,
		"BTF is not available or not supported", 15, NULL);
	refused("r:e /bin/x:1 +0(entry(%si)):string", true, EINVAL,
		"BTF is not available or not supported", 16, NULL);
}

static void is_read_back(void **state)
{
	struct spec_table *table = new_table(false);
	const struct spec_probe *probe =
		define(table, "r:e /bin/x:1 buf=entry(%si) +8(entry(+16(%di))):u32");

	(void)state;
	assert_string_equal("r:uprobes/e /bin/x:0x0000000000000001 buf=entry(%si) "
			    "arg2=+8(entry(+16(%di))):u32",
			    fixture_listing(table));
	assert_true(probe->args[0].at_entry);
	assert_int_equal(0, probe->args[0].n_entry_derefs);
	assert_int_equal(1, probe->args[1].n_entry_derefs);
	assert_int_equal(2, probe->args[1].n_derefs);
	spec_table_free(table);
}

/* @at_entry, @at_return: registers si, di; NULL: nothing is known of the entry. */
static void printed(const char *definition, const uint64_t *at_entry, const uint64_t *at_return,
		    const char *want)
{
	struct event_record *record = calloc(1, sizeof(*record) + EVENT_DATA_MAX);
	struct fetch_scratch *scratch = fetch_scratch_new();
	struct spec_table *table = new_table(false);
	const struct spec_probe *probe = define(table, definition);
	struct fetch_memory memory = { fake_memory_read, &fake };
	struct ubp_regs regs = { .r = { [RSP] = 0x1080 } };
	struct fetch_input in = { .arch = ubp_arch_by_name("x86_64"),
				  .regs = &regs,
				  .memory = &memory };
	struct fetch_program *program = NULL, *entry = NULL;
	struct entry_values values = { 0 };
	struct sink_buf text = { 0 };

	assert_int_equal(0, fetch_compile(probe, &program, &err));
	assert_int_equal(0, fetch_compile_entry(probe, &entry, &err));
	assert_non_null(entry);
	if (at_entry) {
		regs.r[RSI] = at_entry[0];
		regs.r[RDI] = at_entry[1];
		fetch_run_entry(entry, &in, scratch, &values);
	}
	regs.r[RSI] = at_return[0];
	regs.r[RDI] = at_return[1];
	regs.r[RAX] = 7;
	in.entry = at_entry ? &values : NULL;
	record->data_len = (uint32_t)fetch_run(program, &in, scratch,
					       probe_kind_head(PROBE_RETURN), record->data);
	sink_text_args(&text, probe, record, &(struct sink_text_options){ 0 });
	sink_buf_add(&text, "", 1);
	assert_string_equal(want, text.data);
	sink_buf_free(&text);
	free(program);
	free(entry);
	spec_table_free(table);
	fetch_scratch_free(scratch);
	free(record);
}

static void values_are_those_of_the_entry(void **state)
{
	const uint64_t first[] = { 0x1004, 0x1040 }, then[] = { 1, 2 }, bad[] = { 16, 32 };

	(void)state;
	fake_memory_map(&fake, 0x1000, 0x100);
	fake_memory_put_text(&fake, 0x1004, "hello");
	fake_memory_put_u64(&fake, 0x1040, 0x1004);
	fake_memory_put_text(&fake, 0x10fe, "z"); /* the last two bytes that are there */
	printed("r:e /bin/x:1 a=entry(%si):u8 s=+0(entry(%si)):string r=$retval:u8 now=%si",
		first, then, " a=4 s=\"hello\" r=7 now=0x1");
	printed("r:e /bin/x:1 s=+0(entry(+0(%di))):string c=+1(entry(%si)):char", first, then,
		" s=\"hello\" c='e'");
	/* No more is read than is shown. */
	printed("r:e /bin/x:1 c=entry(+0xbe(%di)):char", first, then, " c='z'");
	printed("r:e /bin/x:1 c=entry(+0xbe(%di)):u32", first, then, " c=(fault)");
	printed("r:e /bin/x:1 c=+0(entry(+0xbe(%di))):u8", first, then, " c=(fault)");
	printed("r:e /bin/x:1 s=+0(entry(%si)):string c=+1(entry(%si)):char n=$retval:u8", bad,
		then, " s=(fault) c=(fault) n=7");
	printed("r:e /bin/x:1 v=entry(+0(%di)) s=+0(entry(+0(%di))):string n=$retval:u8", bad,
		then, " v=(fault) s=(fault) n=7");
	/* Nor is a word of the stack that is not there 0, and what has its length from a fault is one. */
	printed("r:e /bin/x:1 v=entry($stack2047) ok=entry($stack1):u8", first, then,
		" v=(fault) ok=0");
	printed("r:e /bin/x:1 c=entry(+0(%si)):u8 s=+0(entry(%di)):string[c] h=+0(%sp):hex[c]",
		bad, then, " c=(fault) s=(fault) h=(fault)");
	printed("r:e /bin/x:1 c=entry(+2(%si)):u8 s=+0(entry(%si)):string[c]", first, then,
		" c=108 s=\"hello\"");
	printed("r:e /bin/x:1 c=entry(+8(%di)):u8 s=+0(entry(%si)):string[c]", first, then,
		" c=0 s=\"\"");
	/* A call that was entered before anybody looked. */
	printed("r:e /bin/x:1 s=+0(+0(entry(%si))):string t=\\\"x\" u=+0(entry(%si)):string",
		first, then, " s=(fault) t=(fault) u=\"hello\"");
	printed("r:e /bin/x:1 a=entry(%si) b=+0(entry(%si)):u32 s=+0(entry(%si)):string "
		"n=$retval:u8",
		NULL, then, " a=(fault) b=(fault) s=(fault) n=7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_refused_where_it_makes_no_sense),
		cmocka_unit_test(is_unknown_to_strict_grammar),
		cmocka_unit_test(is_read_back),
		cmocka_unit_test(values_are_those_of_the_entry),
	};

	return cmocka_run_group_tests_name("entry values", tests, NULL, NULL);
}
