/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What extended grammar adds to fetch args, fetched, printed and filtered: sums of registers,
 * registers that the kernel does not read, floating-point numbers, signed bit-fields, names
 * of numbers. Printed values are what gdb 13 prints for the same bits.
 */

#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/float_bits.h"
#include "engine/base/probe_kind.h"
#include "engine/fetch/fetch.h"
#include "engine/fetch/match.h"
#include "engine/sink/json.h"
#include "engine/sink/text.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/record_make.h"
#include "tests/unit/spec_fixture.h"
#include "tests/unit/temp.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct ubp_err err;

/* --- printing ------------------------------------------------------------------ */

struct printer {
	struct probe_make make;
	struct event_record *record;
	struct sink_buf buf;
};

static int set_up(void **state)
{
	struct printer *p = calloc(1, sizeof(*p));

	ubp_err_reset(&err);
	p->record = record_make();
	*state = p;
	return p->record ? 0 : -1;
}

static int tear_down(void **state)
{
	struct printer *p = *state;

	sink_buf_free(&p->buf);
	free(p->record);
	free(p);
	return 0;
}

static void prepare(struct printer *p, const char *args)
{
	probe_make(&p->make, false, args);
	record_clear(p->record, &p->make.probe);
}

static const char *text_of(struct printer *p)
{
	const struct sink_text_options opt = { 0 };

	p->buf.len = 0;
	sink_text_value(&p->buf, &p->make.probe.args[0], p->record, &opt);
	sink_buf_add(&p->buf, "", 1);
	return p->buf.data;
}

/* The arg in the JSON line, as it is written there. */
static const char *json_of(struct printer *p)
{
	json_error_t error;
	json_t *line;
	char *value, *end;

	p->buf.len = 0;
	sink_json_line(&p->buf, &p->make.probe, p->record, NULL);
	line = json_loadb(p->buf.data, p->buf.len, 0, &error);
	if (!line)
		fail_msg("%s", error.text);
	json_decref(line);
	sink_buf_add(&p->buf, "", 1);
	value = strstr(p->buf.data, "\"args\":{\"v\":");
	assert_non_null(value);
	value += strlen("\"args\":{\"v\":");
	end = strstr(value, "}}\n");
	assert_non_null(end);
	*end = '\0';
	return value;
}

static void floats(void **state)
{
	static const struct {
		unsigned size;
		uint64_t bits;
		const char *want;
		bool is_string; /* in JSON */
	} cases[] = {
		{ 8, 0, "0", false },
		{ 8, 0x8000000000000000, "-0", false },
		{ 8, 0x3ff0000000000000, "1", false },
		{ 8, 0x40091eb851eb851f, "3.1400000000000001", false },
		{ 8, 0x3fe0000000000000, "0.5", false },
		{ 8, 0x54b249ad2594c37d, "1e+100", false },
		{ 8, 0x3ee4f8b588e368f1, "1.0000000000000001e-05", false },
		{ 8, 0x3fb999999999999a, "0.10000000000000001", false },
		{ 8, 0x4341c37937e08000, "10000000000000000", false },
		{ 8, 0x4376345785d8a000, "1e+17", false },
		{ 8, 1, "4.9406564584124654e-324", false },
		{ 8, 0x7fefffffffffffff, "1.7976931348623157e+308", false },
		{ 8, 0xffefffffffffffff, "-1.7976931348623157e+308", false },
		{ 8, 0x7ff0000000000000, "inf", true },
		{ 8, 0xfff0000000000000, "-inf", true },
		{ 8, 0x7ff8000000000000, "nan(0x8000000000000)", true },
		{ 8, 0xfff8000000000000, "-nan(0x8000000000000)", true },
		{ 8, 0x7ff0000000000001, "nan(0x000000001)", true },
		{ 8, 0x7ff0000100000000, "nan(0x100000000)", true },
		{ 8, 0x7fffffffffffffff, "nan(0xfffffffffffff)", true },
		{ 4, 0x4048f5c3, "3.1400001", false },
		{ 4, 0x3dcccccd, "0.100000001", false },
		{ 4, 0x4b800000, "16777216", false },
		{ 4, 0x4ceb79a3, "123456792", false },
		{ 4, 0x4e6e6b28, "1e+09", false },
		{ 4, 1, "1.40129846e-45", false },
		{ 4, 0x7f7fffff, "3.40282347e+38", false },
		{ 4, 0xff800000, "-inf", true },
		{ 4, 0x7f800001, "nan(0x1)", true },
		{ 4, 0xffc00000, "-nan(0x400000)", true },
	};
	struct printer *p = *state;

	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		char quoted[64];

		prepare(p, cases[i].size == 8 ? "v=%xmm0:f64" : "v=%xmm0:f32");
		record_put(p->record, &p->make.probe, 0, 0, cases[i].bits);
		assert_string_equal(text_of(p), cases[i].want);
		snprintf(quoted, sizeof(quoted), cases[i].is_string ? "\"%s\"" : "%s",
			 cases[i].want);
		assert_string_equal(json_of(p), quoted);
	}
	prepare(p, "v=+0(%di):f64[3]");
	record_put(p->record, &p->make.probe, 0, 0, 0x3fe0000000000000);
	record_put(p->record, &p->make.probe, 0, 1, 0xffefffffffffffff);
	record_put(p->record, &p->make.probe, 0, 2, 0x7ff0000000000000);
	assert_string_equal(text_of(p), "{0.5,-1.7976931348623157e+308,inf}");
	assert_string_equal(json_of(p), "[0.5,-1.7976931348623157e+308,\"inf\"]");
}

static bool passes(struct printer *p, const char *text);

/* A locale with a decimal comma, in a folder of its own. */
static bool set_comma(char folder[TEMP_LEN])
{
	static const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
				     "grouping 3;3\nEND LC_NUMERIC\n"
				     "LC_CTYPE\ncopy \"POSIX\"\nEND LC_CTYPE\n";
	char text[256];
	FILE *file;

	temp_folder(folder);
	snprintf(text, sizeof(text), "%s/source", folder);
	file = fopen(text, "w");
	assert_non_null(file);
	fputs(source, file);
	fclose(file);
	snprintf(text, sizeof(text),
		 "localedef -c -f ANSI_X3.4-1968 -i %s/source %s/xx_XX >/dev/null 2>&1", folder,
		 folder);
	(void)!system(text);
	setenv("LOCPATH", folder, 1);
	return setlocale(LC_NUMERIC, "xx_XX") && strcmp(localeconv()->decimal_point, ",") == 0;
}

/* A host program's locale is not ours. */
static void floats_in_any_locale(void **state)
{
	char folder[TEMP_LEN], text[64];
	struct printer *p = *state;
	bool is_set = set_comma(folder);

	prepare(p, "v=%xmm0:f64");
	record_put(p->record, &p->make.probe, 0, 0, 0x40091eb851eb851f);
	if (is_set) {
		assert_string_equal(text_of(p), "3.1400000000000001");
		assert_string_equal(json_of(p), "3.1400000000000001");
		assert_true(passes(p, "v > 3.1 && v < 3.2"));
	}
	setlocale(LC_NUMERIC, "C");
	snprintf(text, sizeof(text), "rm -r %s", folder);
	(void)!system(text);
	if (!is_set) {
		print_message("localedef can't make a locale here\n");
		skip();
	}
}

static const struct value_name colours[] = { { 0, "RED" }, { 5, "GREEN" }, { -3, "NEG" } };
static const struct value_name flags[] = { { 1, "READ" }, { 2, "WRITE" }, { 4, "EXEC" } };
static const struct value_name truth[] = { { 0, "false" }, { 1, "true" } };
static const struct value_names enumeration = { .n = 3, .v = colours };
static const struct value_names flag_set = { .n = 3, .is_flags = true, .v = flags };
static const struct value_names boolean = { .n = 2, .v = truth };

static void names(void **state)
{
	static const struct {
		const char *type;
		const struct value_names *names;
		uint64_t value;
		const char *text, *json;
	} cases[] = {
		{ "s32", &enumeration, 0, "RED", "\"RED\"" },
		{ "s32", &enumeration, 5, "GREEN", "\"GREEN\"" },
		{ "s32", &enumeration, (uint32_t)-3, "NEG", "\"NEG\"" },
		{ "u8", &enumeration, (uint8_t)-3, "NEG", "\"NEG\"" },
		{ "s32", &enumeration, 7, "7", "7" },
		{ "s32", &enumeration, (uint32_t)-7, "-7", "-7" },
		{ "u32", &enumeration, (uint32_t)-7, "4294967289", "4294967289" },
		{ "u32", &flag_set, 0, "0", "0" },
		{ "u32", &flag_set, 2, "WRITE", "\"WRITE\"" },
		{ "u32", &flag_set, 3, "(READ | WRITE)", "\"(READ | WRITE)\"" },
		{ "u8", &flag_set, 9, "(READ | unknown: 0x8)", "\"(READ | unknown: 0x8)\"" },
		{ "u64", &flag_set, 8, "(unknown: 0x8)", "\"(unknown: 0x8)\"" },
		{ "u8", &boolean, 0, "false", "\"false\"" },
		{ "u8", &boolean, 1, "true", "\"true\"" },
		{ "u8", &boolean, 7, "7", "7" },
		{ "sb3@0/8", &enumeration, (uint8_t)-3, "NEG", "\"NEG\"" },
	};
	struct printer *p = *state;

	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		char def[64];

		snprintf(def, sizeof(def), "v=%%di:%s", cases[i].type);
		prepare(p, def);
		p->make.args[0].names = cases[i].names;
		record_put(p->record, &p->make.probe, 0, 0, cases[i].value);
		assert_string_equal(text_of(p), cases[i].text);
		assert_string_equal(json_of(p), cases[i].json);
	}
	prepare(p, "v=+0(%di):s16[3]");
	p->make.args[0].names = &enumeration;
	record_put(p->record, &p->make.probe, 0, 1, 6);
	record_put(p->record, &p->make.probe, 0, 2, (uint16_t)-3);
	assert_string_equal(text_of(p), "{RED,6,NEG}");
	assert_string_equal(json_of(p), "[\"RED\",6,\"NEG\"]");
}

/* Names come with the program: whatever is in them, a terminal sees none of it. */
static void hostile_names(void **state)
{
	static const struct value_name name = { 1, "a\033[2J\"\n" };
	static const struct value_names evil = { .n = 1, .v = &name };
	const struct sink_text_options opt = { .escape = true };
	struct printer *p = *state;

	prepare(p, "v=%di:u8");
	p->make.args[0].names = &evil;
	record_put(p->record, &p->make.probe, 0, 0, 1);
	assert_string_equal(json_of(p), "\"a\\u001b[2J\\\"\\n\"");
	p->buf.len = 0;
	sink_text_args(&p->buf, &p->make.probe, p->record, &opt);
	sink_buf_add(&p->buf, "", 1);
	assert_string_equal(p->buf.data, " v=a\\033[2J\"\\012");
}

/* Where the compiler has such numbers it is asked what the nearest double is. */
static void long_doubles(void **state)
{
	static const struct {
		uint64_t mantissa;
		uint16_t rest;
		uint64_t bits;
	} cases[] = {
		{ 0, 0, 0 },
		{ 0, 0x8000, 1ull << 63 },
		{ 1ull << 63, 0x3fff, 0x3ff0000000000000 },
		{ 0xc90fdaa22168c235, 0xc000, 0xc00921fb54442d18 },
		{ UINT64_MAX, 0x7ffe, 0x7ff0000000000000 },
		{ 1ull << 63, 0x7fff, 0x7ff0000000000000 },
		{ 1ull << 63, 0xffff, 0xfff0000000000000 },
		{ 1ull << 63, 0x3fff - 1074, 1 },
		{ 1ull << 63, 0x3fff - 1075, 0 },
		{ 1, 0, 0 },
	};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++)
		assert_int_equal(float_bits_of_x87(cases[i].mantissa, cases[i].rest),
				 cases[i].bits);
	for (int i = 0; i < 100000 && LDBL_MANT_DIG == 64; i++) {
		uint64_t mantissa = (random = random * 6364136223846793005ull + 1) | 1ull << 63;
		uint16_t rest = (uint16_t)(0x3fff - 1200 + (random >> 20) % 2400);
		long double x = 0;
		uint64_t bits;
		double d;

		memcpy(&x, &mantissa, 8);
		memcpy((char *)&x + 8, &rest, 2);
		d = (double)x;
		memcpy(&bits, &d, 8);
		assert_int_equal(float_bits_of_x87(mantissa, rest), bits);
	}
}

/* --- fetching ------------------------------------------------------------------- */

static void read_nothing(void *ctx, struct fetch_span *spans, size_t n)
{
	uint64_t *asked = ctx;

	for (size_t i = 0; i < n; i++) {
		*asked = spans[i].vaddr;
		spans[i].got = 0;
	}
}

static void sources(void **state)
{
	static const struct {
		const char *arg, *want;
		uint64_t asked;
	} cases[] = {
		{ "v=%di+8:x64", "0x100000008", 0 },
		{ "v=%di+%si*8-8:x64", "0x100000010", 0 },
		{ "v=%si*4+%di:x64", "0x10000000c", 0 },
		{ "v=%si*2:s8", "6", 0 },
		{ "v=%dx+%dx:x64", "0xfffffffffffffffe", 0 },
		{ "v=+4(%di+%si*4-1):u8", "0", 0x10000000f },
		{ "v=%fs_base-16:x64", "0x7efffffffff0", 0 },
		{ "v=%xmm1:f64", "0.5", 0 },
		{ "v=%xmm1:x64", "0x3fe0000000000000", 0 },
		{ "v=%xmm2:f32", "-1.5", 0 },
		{ "v=%xmm15:u8", "255", 0 },
		{ "v=%r8:f64", "0.5", 0 },
		{ "v=%si:sb2@0/8", "-1", 0 },
		{ "v=%si:b2@0/8", "3", 0 },
		{ "v=%si:sb1@2/64", "0", 0 },
		{ "v=%dx:sb64@0/64", "-1", 0 },
		{ "v=%r9:sb4@4/16", "-8", 0 },
	};
	struct fetch_scratch *scratch = fetch_scratch_new();
	struct ubp_vectors vectors = {
		{ [1] = 0x3fe0000000000000, [2] = 0x11111111bfc00000, [15] = UINT64_MAX }
	};
	const struct ubp_arch *arch = ubp_arch_by_name("x86_64");
	struct printer *p = *state;
	struct ubp_regs regs = { 0 };
	uint64_t asked;
	struct fetch_memory memory = { read_nothing, &asked };
	struct fetch_input in = { .arch = arch, .regs = &regs, .memory = &memory };

	regs.r[arch->reg.by_name("di", 2)] = 0x100000000;
	regs.r[arch->reg.by_name("si", 2)] = 3;
	regs.r[arch->reg.by_name("dx", 2)] = UINT64_MAX;
	regs.r[arch->reg.by_name("r8", 2)] = 0x3fe0000000000000;
	regs.r[arch->reg.by_name("r9", 2)] = 0x7f80;
	regs.r[arch->reg.more_by_name("fs_base", 7)] = 0x7f0000000000;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct fetch_program *program;
		bool is_vector = strstr(cases[i].arg, "xmm") != NULL;

		prepare(p, cases[i].arg);
		assert_int_equal(fetch_compile(&p->make.probe, &program, &err), 0);
		assert_int_equal(program->needs_vectors, is_vector);
		in.vectors = is_vector ? &vectors : NULL;
		asked = 0;
		fetch_run(program, &in, scratch, probe_kind_head(PROBE_ENTRY), p->record->data);
		assert_string_equal(text_of(p), cases[i].want);
		assert_int_equal(asked, cases[i].asked);
		free(program);
	}
	fetch_scratch_free(scratch);
}

static void refuses_registers_that_are_none(void **state)
{
	struct printer *p = *state;
	struct fetch_program *program;
	struct spec_arg *arg;

	prepare(p, "v=%di+%si");
	arg = &p->make.args[0];
	arg->reg = UBP_REGS_MAX;
	assert_int_equal(fetch_compile(&p->make.probe, &program, &err), -EINVAL);
	arg->reg = 1;
	arg->index_reg = SPEC_REG_VECTOR;
	assert_int_equal(fetch_compile(&p->make.probe, &program, &err), -EINVAL);
	arg->index_reg = SPEC_NO_REG;
	arg->index_shift = 4;
	assert_int_equal(fetch_compile(&p->make.probe, &program, &err), -EINVAL);
	prepare(p, "v=%xmm1");
	arg->reg = SPEC_REG_VECTOR + UBP_VECTORS;
	assert_int_equal(fetch_compile(&p->make.probe, &program, &err), -EINVAL);
}

static void knows_registers(void **state)
{
	static const char *const none[] = { "xmm",   "xmm16", "xmm01",  "xmm+1",
					    "xmm1x", "ymm0",  "fs",     "FS_BASE",
					    "xmm 1", "di",    "fs_bas", "" };
	const struct ubp_arch *arch = ubp_arch_by_name("x86_64");

	(void)state;
	assert_int_equal(arch->reg.more_by_name("xmm0", 4), UBP_REG_VECTOR);
	assert_int_equal(arch->reg.more_by_name("xmm15", 5), UBP_REG_VECTOR + 15);
	assert_int_equal(arch->reg.more_by_name("xmm155", 5), UBP_REG_VECTOR + 15);
	assert_int_equal(arch->reg.more_by_name("gs_base", 7),
			 arch->reg.more_by_name("fs_base", 7) + 1);
	for (size_t i = 0; i < N_ELEMS(none); i++)
		assert_int_equal(arch->reg.more_by_name(none[i], strlen(none[i])), -1);
}

/* --- filters -------------------------------------------------------------------- */

static bool passes(struct printer *p, const char *text)
{
	struct filter *filter = NULL;
	bool outcome;

	if (filter_parse(text, &p->make.probe, &filter, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	outcome = filter_match(filter, p->record);
	filter_free(filter);
	return outcome;
}

#define D_0_1  0x3fb999999999999aull
#define D_NAN  0x7ff8000000000000ull
#define D_INF  0x7ff0000000000000ull
#define F_0_1  0x3dcccccdull
#define D_M250 0xc06f400000000000ull

static void float_filters(void **state)
{
	static const struct {
		const char *filter;
		unsigned size;
		uint64_t bits;
		bool passes;
	} cases[] = {
		{ "x > 0.05", 8, D_0_1, true },
		{ "x > 0.1", 8, D_0_1, false },
		{ "x >= 0.1", 8, D_0_1, true },
		{ "x <= .1", 8, D_0_1, true },
		{ "x < 1e-1", 8, D_0_1, false },
		{ "x == 0.1", 8, D_0_1, true },
		{ "x != 0.1", 8, D_0_1, false },
		{ "x == 0.1", 4, F_0_1, true },
		{ "x < 1", 4, F_0_1, true },
		{ "x == -0.25e3", 8, D_M250, true },
		{ "x == -250", 8, D_M250, true },
		{ "x < -2.49E+2 && x > -251.", 8, D_M250, true },
		{ "!(x < 0)", 8, D_M250, false },
		{ "x == 0", 8, 1ull << 63, true },
		{ "x > 1e308", 8, D_INF, true },
		{ "x == 0", 8, D_NAN, false },
		{ "x != 0", 8, D_NAN, true },
		{ "x < 0", 8, D_NAN, false },
		{ "x <= 0", 8, D_NAN, false },
		{ "x > 0", 8, D_NAN, false },
		{ "x >= 0", 8, D_NAN, false },
		{ "!(x >= 0)", 8, D_NAN, true },
	};
	struct printer *p = *state;

	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		prepare(p, cases[i].size == 8 ? "x=%xmm0:f64" : "x=%xmm0:f32");
		record_put(p->record, &p->make.probe, 0, 0, cases[i].bits);
		if (passes(p, cases[i].filter) != cases[i].passes)
			fail_msg("%s of 0x%llx", cases[i].filter,
				 (unsigned long long)cases[i].bits);
	}
}

static void name_filters(void **state)
{
	static const struct {
		const char *filter;
		bool passes;
	} cases[] = {
		{ "c == GREEN", true },
		{ "c==GREEN&&f&WRITE", true },
		{ "c != GREEN", false },
		{ "c == 5", true },
		{ "c > RED", true },
		{ "c >= NEG", true },
		{ "c < NEG", false },
		{ "f & WRITE", true },
		{ "f & READ", false },
		{ "(f & READ) || (c == GREEN)", true },
		{ "c == GREENISH", false },
		{ "c == n::GREEN", true },
		{ "f == 2 && f == WRITE", true },
	};
	static const struct value_name some[] = { { 5, "GREEN" },
						  { 6, "GREENISH" },
						  { 0, "RED" },
						  { -3, "NEG" },
						  { 5, "n::GREEN" } };
	static const struct value_names more = { .n = N_ELEMS(some), .v = some };
	struct printer *p = *state;

	prepare(p, "c=%di:s32 f=%si:u8");
	p->make.args[0].names = &more;
	p->make.args[1].names = &flag_set;
	record_put(p->record, &p->make.probe, 0, 0, 5);
	record_put(p->record, &p->make.probe, 1, 0, 2);
	for (size_t i = 0; i < N_ELEMS(cases); i++)
		if (passes(p, cases[i].filter) != cases[i].passes)
			fail_msg("%s", cases[i].filter);
}

static void refused_filters(void **state)
{
	static const struct {
		const char *filter, *text;
	} cases[] = {
		{ "x & 1", "Floating-point numbers have no bits and no patterns" },
		{ "x ~ \"1*\"", "Floating-point numbers have no bits and no patterns" },
		{ "x == \"1\"", "Expecting numeric field" },
		{ "x == 0x10", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == 1.5.2", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == .", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == 1e", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == nan", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == 1e400", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "y == 1e39", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == --1", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x == CPUS{1}", "Wanted is a decimal number, as 1.5 or -2e3" },
		{ "x.function == main", "Illegal operation for field type" },
		{ "z == 1", "Arrays of floating-point numbers can't be compared" },
		{ "c == BLUE", "The field has no value of that name" },
		{ "c == GREE", "The field has no value of that name" },
		{ "c ~ GREEN", "Illegal operation for field type" },
		{ "n == GREEN", "Invalid value (did you forget quotes)?" },
	};
	struct printer *p = *state;

	prepare(p, "x=%xmm0:f64 y=%xmm1:f32 z=+0(%di):f64[1] c=%di:s32 n=%si:s32");
	p->make.args[3].names = &enumeration;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct filter *filter = NULL;

		assert_int_equal(filter_parse(cases[i].filter, &p->make.probe, &filter, &err),
				 -EINVAL);
		if (strcmp(err.text, cases[i].text) != 0)
			fail_msg("%s: %s", cases[i].filter, err.text);
		assert_true(err.has_caret);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(floats, set_up, tear_down),
		cmocka_unit_test_setup_teardown(floats_in_any_locale, set_up, tear_down),
		cmocka_unit_test(long_doubles),
		cmocka_unit_test_setup_teardown(names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sources, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_registers_that_are_none, set_up,
						tear_down),
		cmocka_unit_test(knows_registers),
		cmocka_unit_test_setup_teardown(float_filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(name_filters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_filters, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
