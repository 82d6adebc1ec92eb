/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Definitions: what tests/corpus cannot ask a kernel. Extended grammar, the
 * perf-tools form, writes that must be all or nothing, what the parsed
 * structures hold.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/spec/format.h"
#include "tests/unit/spec_fixture.h"

static struct ubp_err err;

static int set_up(void **state)
{
	struct spec_env env = fixture_env(false);

	ubp_err_reset(&err);
	*state = spec_table_new(&env);
	return *state ? 0 : -1;
}

static int set_up_strict(void **state)
{
	struct spec_env env = fixture_env(true);

	ubp_err_reset(&err);
	*state = spec_table_new(&env);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	spec_table_free(*state);
	return 0;
}

static int write_text(struct spec_table *table, const char *text)
{
	return spec_table_write(table, text, strlen(text), &err);
}

static void must_write(struct spec_table *table, const char *text)
{
	if (write_text(table, text) != 0)
		fail_msg("'%s' was refused: %s", text, err.text);
}

static void must_add(struct spec_table *table, const char *text)
{
	if (spec_table_add_short(table, text, &err) != 0)
		fail_msg("'%s' was refused: %s", text, err.text);
}

/* The failure that stands in err, its text and the column of its caret. */
static void assert_failed(int rc, int code, const char *text, int caret)
{
	assert_string_equal(text, err.text);
	assert_int_equal(-code, rc);
	assert_int_equal(code, err.code);
	assert_int_equal(caret >= 0, err.has_caret);
	if (caret >= 0)
		assert_int_equal(caret, err.caret);
}

static const struct spec_probe *last_probe(const struct spec_table *table)
{
	assert_true(spec_table_count(table) > 0);
	return spec_table_probe(table, spec_table_count(table) - 1);
}

/* --- extended grammar ------------------------------------------------------ */

static void test_symbols(void **state)
{
	struct spec_table *table = *state;
	const struct spec_probe *probe;

	must_write(table, "p /bin/x:main");
	must_write(table, "p:g/e /bin/x:main+0x10%return(0x40) a=%di");
	must_write(table, "r prog:fopen@@GLIBC_2.2.5");
	must_write(table, "p prog:foo.part.0+8");
	must_write(table, "p /bin/x:_ZN3std2io5print17h@V1+017(1)");
	assert_string_equal("p:uprobes/main /bin/x:main\n"
			    "r:g/e /bin/x:main+0x10(0x40) a=%di\n"
			    "r:uprobes/fopen /usr/bin/prog:fopen@@GLIBC_2.2.5\n"
			    "p:uprobes/foo_part_0_0x8 /usr/bin/prog:foo.part.0+0x8\n"
			    "p:uprobes/_ZN3std2io5print17h_0xf "
			    "/bin/x:_ZN3std2io5print17h@V1+0xf(0x1)",
			    fixture_listing(table));
	probe = spec_table_probe(table, 1);
	assert_string_equal("main", probe->symbol);
	assert_int_equal(0x10, probe->symbol_off);
	assert_int_equal(0x40, probe->ref);
	assert_true(probe->kind == PROBE_RETURN);
	assert_false(probe->is_resolved);
	assert_false(probe->auto_event);
	assert_string_equal("p:g/e /bin/x:main+0x10%return(0x40) a=%di", probe->command);
	assert_true(spec_table_probe(table, 0)->auto_event);
}

static void test_symbol_names_are_cut(void **state)
{
	struct spec_table *table = *state;
	char symbol[81], text[128];

	memset(symbol, 's', 80);
	symbol[80] = '\0';
	snprintf(text, sizeof(text), "p /bin/x:%s", symbol);
	must_write(table, text);
	assert_int_equal(63, strlen(last_probe(table)->event));
	assert_string_equal(symbol, last_probe(table)->symbol);
	/* The number is never cut off. */
	snprintf(text, sizeof(text), "p /bin/x:%s+0xabc", symbol);
	must_write(table, text);
	assert_int_equal(63, strlen(last_probe(table)->event));
	assert_string_equal("ss_0xabc", last_probe(table)->event + 55);
	snprintf(text, sizeof(text), "p /bin/x:%s %%di", symbol);
	must_write(table, text);
	assert_int_equal(63, strlen(last_probe(table)->event));
	assert_string_equal("sss_1", last_probe(table)->event + 58);
}

static void test_bare_targets(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p prog:0x100");
	assert_string_equal("p:uprobes/p_prog_0x100 /usr/bin/prog:0x0000000000000100",
			    fixture_listing(table));
	assert_true(last_probe(table)->is_resolved);
	assert_failed(write_text(table, "p nothing:main"), ENOENT,
		      "Failed to find the given file", 2);
	/* A reason that the look-up gives is kept, and gets a caret. */
	assert_failed(write_text(table, "p:e  several:main"), EEXIST,
		      "several libraries are named 'several'", 4);
	assert_string_equal("p:e several:main", err.command);
	assert_failed(write_text(table, "p /dir:main"), EINVAL, "Not a regular file", 2);
}

/* Conflicts are found whatever came between: deletions, symbols that got offsets. */
static void test_conflicts_later(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p:g/a /bin/x:f\np:g/b /bin/x:0x20 x=%di\np:g/c /bin/x:0x30");
	spec_table_resolve(table, 0, 0x10);
	assert_failed(write_text(table, "p:g/a /bin/x:0x10"), EEXIST,
		      "There is already the exact same probe event", 0);
	assert_failed(write_text(table, "p:g/a /bin/x:f"), EEXIST,
		      "There is already the exact same probe event", 0);
	must_write(table, "p:g/a /bin/x:0x11");
	assert_failed(write_text(table, "p:g/d /bin/x:0x10(0x80)"), EINVAL,
		      "Reference counter offset mismatch", 0);
	must_write(table, "-:g/b");
	must_write(table, "p:g/b /bin/x:0x20 y=%si");
	assert_failed(write_text(table, "p:g/b /bin/x:0x20 y=%si"), EEXIST,
		      "There is already the exact same probe event", 0);
	spec_table_truncate(table, spec_table_count(table) - 1);
	must_write(table, "p:g/b /bin/x:0x20 y=%si:u8");
	assert_failed(write_text(table, "r:g/c /bin/x:0x30"), EEXIST,
		      "Probe type is different from existing probe", 0);
}

/* An error tells which line it is about; so does a probe. */
static void test_line_numbers(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "# one\n\np:g/a /bin/x:0x10\np:g/b /bin/x:0x20");
	assert_int_equal(3, spec_table_probe(table, 0)->line);
	assert_int_equal(4, last_probe(table)->line);
	assert_int_equal(-EINVAL,
			 write_text(table, "p:g/c /bin/x:0x30\np:g/d /bin/x:0x40 %foo"));
	assert_int_equal(2, err.line);
}

static void test_bad_places(void **state)
{
	struct spec_table *table = *state;

	assert_failed(write_text(table, "p prog"), EINVAL, "No ':' between file and place", 6);
	assert_failed(write_text(table, "p :main"), EINVAL, "No file before the ':'", 2);
	assert_failed(write_text(table, "p prog:"), EINVAL,
		      "No offset or symbol behind the last ':'", 7);
	assert_failed(write_text(table, "p prog:+8"), EINVAL,
		      "No offset or symbol behind the last ':'", 7);
	assert_failed(write_text(table, "p prog:ma-in"), EINVAL, "Invalid symbol name", 9);
	assert_failed(write_text(table, "p prog:main+"), EINVAL, "Invalid symbol offset", 12);
	assert_failed(write_text(table, "p prog:main+-8"), EINVAL, "Invalid symbol offset", 12);
	assert_failed(write_text(table, "p prog:main+8x"), EINVAL, "Invalid symbol offset", 12);
	assert_failed(write_text(table, "p prog:main+99999999999999999999"), ERANGE,
		      "Invalid symbol offset", 12);
	assert_failed(write_text(table, "p prog:0x1g"), EINVAL, "Invalid uprobe offset", 7);
	assert_failed(write_text(table, "p prog:main%ret"), EINVAL,
		      "Invalid probed address suffix", 11);
	assert_int_equal(0, spec_table_count(table));
}

static void test_strict_refuses_the_rest(void **state)
{
	struct spec_table *table = *state;

	assert_failed(write_text(table, "p /bin/x:main"), EINVAL,
		      "No offset behind the last ':'", -1);
	assert_failed(write_text(table, "p prog:0x100"), EINVAL,
		      "No path with a '/' is specified", -1);
	assert_failed(write_text(table, "x /bin/x:0x100"), EINVAL,
		      "Definition must begin with p or r", -1);
	assert_failed(write_text(table, "-:none"), ENOENT, "No such event to delete", -1);
	/* What the kernel names in a way that clashes stays refused. */
	must_write(table, "p /bin/x:0x100");
	assert_failed(write_text(table, "r /bin/x:0x100"), EEXIST,
		      "Probe type is different from existing probe", 0);
}

static void test_made_up_names_evade(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p /bin/x:open");
	must_write(table, "r /bin/x:open");
	must_write(table, "p /bin/x:open a=%di");
	must_write(table, "p /bin/y:open a=%di");
	assert_string_equal("p:uprobes/open /bin/x:open\n"
			    "r:uprobes/open_1 /bin/x:open\n"
			    "p:uprobes/open_2 /bin/x:open a=%di\n"
			    "p:uprobes/open_2 /bin/y:open a=%di",
			    fixture_listing(table));
	/* The very same probe is a mistake all the same. */
	assert_failed(write_text(table, "p /bin/x:open"), EEXIST,
		      "There is already the exact same probe event", 0);
	assert_failed(write_text(table, "r /bin/x:open"), EEXIST,
		      "There is already the exact same probe event", 0);
	/* And so is a name that was given, or that the kernel would make up. */
	assert_failed(write_text(table, "r:open /bin/x:open"), EEXIST,
		      "Probe type is different from existing probe", 0);
	must_write(table, "p /bin/x:1");
	assert_failed(write_text(table, "r /bin/x:1"), EEXIST,
		      "Probe type is different from existing probe", 0);
}

static void test_resolve(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p:g/e /bin/x:main+4 a=%di");
	must_write(table, "p:g/e2 /bin/x:0x1234");
	spec_table_resolve(table, 0, 0x1234);
	assert_string_equal("p:g/e /bin/x:0x0000000000001234 a=%di\n"
			    "p:g/e2 /bin/x:0x0000000000001234",
			    fixture_listing(table));
	assert_int_equal(0x1234, spec_table_probe(table, 0)->offset);
	assert_int_equal(4, spec_table_probe(table, 0)->symbol_off);
	assert_failed(write_text(table, "p /bin/x:0x1234(0x8)"), EINVAL,
		      "Reference counter offset mismatch", 0);
	/* The same place, now known by both spellings. */
	assert_failed(write_text(table, "p:g/e /bin/x:0x1234 a=%di"), EEXIST,
		      "There is already the exact same probe event", 0);
	assert_failed(write_text(table, "p:g/e /bin/x:main+4 a=%di"), EEXIST,
		      "There is already the exact same probe event", 0);
	must_write(table, "-:g/e /bin/x:0x0000000000001234 a=%di");
	assert_int_equal(1, spec_table_count(table));
}

static void test_delete_by_symbol(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p:g/e /bin/x:main+4\np:g/e /bin/x:other\n");
	must_write(table, "-:g/e /bin/x:main+0x4");
	assert_string_equal("p:g/e /bin/x:other", fixture_listing(table));
	assert_failed(write_text(table, "-:g/none"), ENOENT, "No such event to delete", 0);
	assert_failed(write_text(table, "-:"), EINVAL, "No event to delete is specified", 2);
	assert_failed(write_text(table, "-g/e"), EINVAL, "Deletion must begin with -:", 1);
}

/* --- the perf-tools form --------------------------------------------------- */

static void test_short_forms(void **state)
{
	struct spec_table *table = *state;

	must_add(table, "p:prog:readline");
	must_add(table, "r:prog:readline +0($retval):string");
	must_add(table, "  p:mine   prog:readline+0x8  line=%di %si ");
	must_add(table, "p:grp/mine /bin/x.so.6:0x1f0");
	must_add(table, "libc:fopen%return file=$retval");
	must_add(table, "p:/bin/x:y.so.6:0x1F0");
	must_add(table, "p /bin/7z.bin:16");
	must_add(table, "r:g/ /bin/x:f");
	assert_string_equal(
		"p:uprobes/readline /usr/bin/prog:readline\n"
		"r:uprobes/readline_1 /usr/bin/prog:readline arg1=+0($retval):string\n"
		"p:uprobes/mine /usr/bin/prog:readline+0x8 line=%di arg2=%si\n"
		"p:grp/mine /bin/x.so.6:0x00000000000001f0\n"
		"r:uprobes/fopen /usr/bin/libc:fopen file=$retval\n"
		"p:uprobes/x_y_0x1f0 /bin/x:y.so.6:0x00000000000001f0\n"
		"p:uprobes/_7z_0x10 /bin/7z.bin:0x0000000000000010\n"
		"r:g/f /bin/x:f",
		fixture_listing(table));
	assert_string_equal("p:mine prog:readline+0x8 line=%di %si",
			    spec_table_probe(table, 2)->command);
}

static void test_short_errors(void **state)
{
	struct spec_table *table = *state;
	const char *forms =
		"wanted is p:TARGET:SYMBOL, r:TARGET:SYMBOL, p:NAME TARGET:SYMBOL or "
		"TARGET:SYMBOL";
	char text[160];

	snprintf(text, sizeof(text), "Not a definition; %s", forms);
	assert_failed(spec_table_add_short(table, "readline", &err), EINVAL, text, 0);
	snprintf(text, sizeof(text), "No place to probe is specified; %s", forms);
	assert_failed(spec_table_add_short(table, "p:readline", &err), EINVAL, text, 10);
	assert_failed(spec_table_add_short(table, "r", &err), EINVAL, text, 1);
	snprintf(text, sizeof(text), "Empty definition; %s", forms);
	assert_failed(spec_table_add_short(table, " ", &err), EINVAL, text, -1);
	assert_failed(spec_table_add_short(table, "p:  prog:main", &err), EINVAL,
		      "Event name is not specified", 2);
	assert_failed(spec_table_add_short(table, "p:a-b   prog:main", &err), EINVAL,
		      "Event name must follow the same rules as C identifiers", 2);
	assert_failed(spec_table_add_short(table, "p:prog:main   %foo", &err), EINVAL,
		      "Invalid register name", 12);
	assert_string_equal("p:prog:main %foo", err.command);
	assert_failed(spec_table_add_short(table, "prog:main x=$retval", &err), EINVAL,
		      "$retval is not available on probe", 12);
	assert_failed(spec_table_add_short(table, "p:nothing:main", &err), ENOENT,
		      "Failed to find the given file", 2);
	assert_int_equal(0, spec_table_count(table));
	must_add(table, "p:e prog:main %di");
	assert_failed(spec_table_add_short(table, "p:e prog:main", &err), EEXIST,
		      "Argument type or name is different from existing probe", 14);
}

static void test_short_too_long(void **state)
{
	struct spec_table *table = *state;
	char text[5000];

	memset(text, ' ', sizeof(text));
	memcpy(text, "p:prog:main", 11);
	text[4095] = '\0';
	must_add(table, text);
	text[4095] = ' ';
	text[4096] = '\0';
	assert_failed(spec_table_add_short(table, text, &err), EINVAL,
		      "Definition is longer than 4095 bytes", -1);
}

static void test_short_too_many_args(void **state)
{
	struct spec_table *table = *state;
	char text[1024] = "p:prog:main";

	for (int i = 0; i < 128; i++)
		strcat(text, " %di");
	must_add(table, text);
	assert_int_equal(128, last_probe(table)->n_args);
	strcat(text, " %di");
	assert_failed(spec_table_add_short(table, text, &err), E2BIG,
		      "Too many arguments are specified", 12);
}

/* --- writes ---------------------------------------------------------------- */

static void test_write_keeps_earlier_lines(void **state)
{
	struct spec_table *table = *state;

	assert_int_equal(-EINVAL,
			 write_text(table, "p:e1 /bin/x:1\np:e2 /bin/x:2 %bad\np:e3 /bin/x:3"));
	assert_string_equal("p:uprobes/e1 /bin/x:0x0000000000000001", fixture_listing(table));
	must_write(table, "");
	must_write(table, "\n # nothing\n\t\n");
	assert_int_equal(1, spec_table_count(table));
}

static void test_write_all_is_atomic(void **state)
{
	struct spec_table *table = *state;
	const char *bad =
		"-:e1\np:e3 /bin/x:3 a=%di\np:e1 /bin/y:main %si\np:e4 /bin/x:4 %bad\n";
	const char *good = "-:e1\np:e3 /bin/x:3 a=%di\np:e1 /bin/y:main %si\n";
	const char *before = "p:uprobes/e1 /bin/x:0x0000000000000001\n"
			     "p:uprobes/e2 /bin/x:sym+0x2(0x8) b=\\5:u8";

	must_write(table, "p:e1 /bin/x:1\np:e2 /bin/x:sym+2(8) b=\\5:u8");
	assert_string_equal(before, fixture_listing(table));
	assert_failed(spec_table_write_all(table, bad, strlen(bad), &err), EINVAL,
		      "Invalid register name", 14);
	assert_string_equal("p:e4 /bin/x:4 %bad", err.command);
	assert_string_equal(before, fixture_listing(table));
	assert_int_equal(0, spec_table_write_all(table, good, strlen(good), &err));
	assert_string_equal("p:uprobes/e2 /bin/x:sym+0x2(0x8) b=\\5:u8\n"
			    "p:uprobes/e3 /bin/x:0x0000000000000003 a=%di\n"
			    "p:uprobes/e1 /bin/y:main arg1=%si",
			    fixture_listing(table));
	assert_string_equal("sym", spec_table_probe(table, 0)->symbol);
	assert_int_equal(5, spec_table_probe(table, 0)->args[0].value);
	assert_string_equal("p:e2 /bin/x:sym+2(8) b=\\5:u8",
			    spec_table_probe(table, 0)->command);
}

/* --- what is parsed -------------------------------------------------------- */

static void test_args(void **state)
{
	struct spec_table *table = *state;
	const struct spec_arg *arg;

	must_write(table,
		   "r:e /bin/x:1 a=%di:u8 $stack3:s16 $retval $comm @0x10:x32[3] "
		   "+8(-u16(@+-4)):string[2] \\-2:b3@4/16 \\\"x\" +0x100000008(%sp):ustring "
		   "$stack:char +0(%ax):b8@0/8");
	arg = last_probe(table)->args;
	assert_int_equal(SPEC_REG, arg[0].source);
	assert_int_equal(14, arg[0].reg);
	assert_int_equal(SPEC_UNSIGNED, arg[0].type.format);
	assert_int_equal(SPEC_STACK, arg[1].source);
	assert_int_equal(3, arg[1].value);
	assert_int_equal(SPEC_SIGNED, arg[1].type.format);
	assert_int_equal(1, arg[1].at);
	assert_int_equal(SPEC_RETVAL, arg[2].source);
	assert_int_equal(10, arg[2].reg);
	assert_true(arg[2].type.is_default);
	assert_int_equal(8, arg[2].type.size);
	assert_int_equal(3, arg[2].at);
	assert_int_equal(SPEC_COMM, arg[3].source);
	assert_int_equal(SPEC_STRING, arg[3].type.format);
	assert_int_equal(11, arg[3].at);
	assert_int_equal(SPEC_IMM, arg[4].source);
	assert_int_equal(0x10, arg[4].value);
	assert_int_equal(1, arg[4].n_derefs);
	assert_int_equal(0, arg[4].deref[0]);
	assert_int_equal(3, arg[4].type.count);
	assert_int_equal(15, arg[4].at);
	assert_int_equal(SPEC_FOFF, arg[5].source);
	assert_int_equal(-4, (int64_t)arg[5].value);
	assert_int_equal(3, arg[5].n_derefs);
	assert_int_equal(0, arg[5].deref[0]);
	assert_int_equal(-16, arg[5].deref[1]);
	assert_int_equal(8, arg[5].deref[2]);
	assert_int_equal(27, arg[5].at);
	assert_int_equal(-2, (int64_t)arg[6].value);
	assert_int_equal(2, arg[6].type.size);
	assert_int_equal(3, arg[6].type.bit_width);
	assert_int_equal(4, arg[6].type.bit_offset);
	assert_int_equal(35, arg[6].at);
	assert_int_equal(SPEC_IMM_STRING, arg[7].source);
	assert_int_equal(37, arg[7].at);
	assert_int_equal(8, arg[8].deref[0]);
	assert_true(arg[8].type.is_ustring);
	assert_int_equal(19, arg[9].reg);
	assert_int_equal(SPEC_CHAR, arg[9].type.format);
	assert_int_equal(45, arg[9].at);
	assert_int_equal(8, arg[10].type.bit_width);
	assert_int_equal(47, last_probe(table)->fixed_size);
}

/* A bit-field whose sum wraps around is accepted; it must not harm anybody. */
static void test_wrapping_bitfield(void **state)
{
	struct spec_table *table = *state;

	must_write(table, "p:e /bin/x:1 \\1:b18446744073709551615@2/8");
	assert_in_range(last_probe(table)->args[0].type.bit_width, 1, 8);
	assert_in_range(last_probe(table)->args[0].type.bit_offset, 0, 7);
	must_write(table, "p:e2 /bin/x:1 \\1:b2@18446744073709551615/8");
	assert_in_range(last_probe(table)->args[0].type.bit_width, 1, 8);
	assert_in_range(last_probe(table)->args[0].type.bit_offset, 0, 7);
}

/* Texts that are too long for the buffer are cut, and their length is told. */
static void test_short_buffers(void **state)
{
	struct spec_table *table = *state;
	char text[2048], part[64];
	int len;

	must_write(table, "p:g/e /bin/x:1 a=+0(%di):string[2]");
	len = spec_format_text(last_probe(table), 7, text, sizeof(text));
	assert_int_equal(strlen(text), len);
	for (size_t size = 0; size < sizeof(part); size++) {
		memset(part, '!', sizeof(part));
		assert_int_equal(len, spec_format_text(last_probe(table), 7, part, size));
		assert_int_equal('!', part[size]);
		if (size > 0) {
			assert_int_equal(size - 1, strlen(part));
			assert_memory_equal(text, part, size - 1);
		}
	}
	assert_non_null(strstr(text, "name: e\nID: 7\n"));
	assert_int_equal(strlen(fixture_listing(table)),
			 spec_probe_listing(last_probe(table), NULL, 0));
}

/* --- hostile input --------------------------------------------------------- */

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Bytes that mean something are more likely than others. */
static void random_bytes(uint32_t *seed, char *text, size_t len)
{
	static const char marks[] = "pr:/-+=@%$\\\"()[]{}#.,_ \t\n\xa0\xe9 0x19bcsuex";

	for (size_t i = 0; i < len; i++)
		text[i] = random_next(seed) % 8 == 0
				  ? (char)random_next(seed)
				  : marks[random_next(seed) % (sizeof(marks) - 1)];
}

static void test_hostile(void **state)
{
	static const char *const seeds[] = {
		"p:g/e /bin/x:0x100%return(0x40) a=+8(-u16(@+-4)):string[2] \\-2:b3@4/16",
		"r /bin/x:main@@V+8(1) $retval:x8[3] \\\"text\" $comm:string "
		"c=$stack9:char\n-:e",
		"p prog:f x=+0(+0(+0(+0(+0(%di))))):u64[64]\n-:x/e /bin/x:0x0000000000000100 "
		"a=%di",
	};
	struct spec_table *table = *state;
	uint32_t seed = 1;
	char text[256];

	for (int i = 0; i < 30000; i++) {
		size_t len = random_next(&seed) % 120;

		if (i % 3 == 0) {
			random_bytes(&seed, text, len);
		} else {
			const char *from = seeds[random_next(&seed) % 3];

			len = strlen(from);
			memcpy(text, from, len);
			random_bytes(&seed, text + random_next(&seed) % len, 1);
			random_bytes(&seed, text + random_next(&seed) % (len - 3),
				     random_next(&seed) % 4);
		}
		(void)spec_table_write(table, text, len, &err);
		text[len] = '\0';
		(void)spec_table_add_short(table, text, &err);
		assert_true(!err.has_caret || err.caret <= strlen(err.command) + 1);
		if (spec_table_count(table) > 50)
			must_write(table, "-:uprobes/\n");
	}
	(void)fixture_listing(table);
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_STRICT(name) cmocka_unit_test_setup_teardown(name, set_up_strict, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_symbols),
		TEST(test_symbol_names_are_cut),
		TEST(test_bare_targets),
		TEST(test_conflicts_later),
		TEST(test_line_numbers),
		TEST(test_bad_places),
		TEST_STRICT(test_strict_refuses_the_rest),
		TEST(test_made_up_names_evade),
		TEST(test_resolve),
		TEST(test_delete_by_symbol),
		TEST(test_short_forms),
		TEST(test_short_errors),
		TEST(test_short_too_long),
		TEST(test_short_too_many_args),
		TEST(test_write_keeps_earlier_lines),
		TEST(test_write_all_is_atomic),
		TEST(test_args),
		TEST_STRICT(test_wrapping_bitfield),
		TEST(test_short_buffers),
		TEST(test_hostile),
	};

	return cmocka_run_group_tests_name("spec_table", tests, NULL, NULL);
}
