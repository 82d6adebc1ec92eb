/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What extended grammar adds to fetch args, parsed: sums of registers, registers that the
 * kernel does not read, floating-point numbers, signed bit-fields, names of numbers.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/spec/format.h"
#include "tests/unit/spec_fixture.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct ubp_err err;

static struct spec_table *new_table(bool strict)
{
	struct spec_env env = fixture_env(strict);
	struct spec_table *table = spec_table_new(&env);

	assert_non_null(table);
	ubp_err_reset(&err);
	return table;
}

static int define(struct spec_table *table, const char *args)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "p:e /bin/x:1 %s", args);

	return spec_table_write(table, text, (size_t)len, &err);
}

static void sums(void **state)
{
	static const struct {
		const char *text;
		uint16_t reg, index;
		uint8_t shift;
		int64_t addend;
		uint8_t n_derefs;
	} cases[] = {
		{ "%di+8", 14, SPEC_NO_REG, 0, 8, 0 },
		{ "%di-0x10", 14, SPEC_NO_REG, 0, -16, 0 },
		{ "%di+%si", 14, 13, 0, 0, 0 },
		{ "%di+%si*4", 14, 13, 2, 0, 0 },
		{ "%di+%si*8-8", 14, 13, 3, -8, 0 },
		{ "%si*2", SPEC_NO_REG, 13, 1, 0, 0 },
		{ "%si*1+9223372036854775807", SPEC_NO_REG, 13, 0, INT64_MAX, 0 },
		{ "%si*4+%di+1+2", 14, 13, 2, 3, 0 },
		{ "%fs_base-8", 21, SPEC_NO_REG, 0, -8, 0 },
		{ "+16(%di+%si*8):f64", 14, 13, 3, 0, 1 },
		{ "+0(-8(%di+%si*8-24)):string", 14, 13, 3, -24, 2 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct spec_table *table = new_table(false);
		const struct spec_arg *arg;
		char listing[256];

		if (define(table, cases[i].text) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		arg = &spec_table_probe(table, 0)->args[0];
		assert_int_equal(arg->source, SPEC_REG);
		assert_true(arg->is_sum);
		assert_int_equal(arg->reg, cases[i].reg);
		assert_int_equal(arg->index_reg, cases[i].index);
		assert_int_equal(arg->index_shift, cases[i].shift);
		assert_int_equal(arg->addend, cases[i].addend);
		assert_int_equal(arg->n_derefs, cases[i].n_derefs);
		snprintf(listing, sizeof(listing), "p:uprobes/e /bin/x:0x%016x arg1=%s", 1,
			 cases[i].text);
		assert_string_equal(listing, fixture_listing(table));
		spec_table_free(table);
		/* The kernel knows none of it. */
		table = new_table(true);
		assert_int_equal(define(table, cases[i].text), -EINVAL);
		spec_table_free(table);
	}
}

static void types(void **state)
{
	static const struct {
		const char *text;
		enum spec_format format;
		uint8_t size, width, offset;
		uint16_t count;
	} cases[] = {
		{ "%xmm0:f64", SPEC_FLOAT, 8, 0, 0, 0 },
		{ "+8(%di):f80", SPEC_FLOAT, 8, 0, 0, 0 },
		{ "%xmm7:f32", SPEC_FLOAT, 4, 0, 0, 0 },
		{ "%xmm7:u32", SPEC_UNSIGNED, 4, 0, 0, 0 },
		{ "%xmm7", SPEC_HEX, 8, 0, 0, 0 },
		{ "%fs_base", SPEC_HEX, 8, 0, 0, 0 },
		{ "%di:f64", SPEC_FLOAT, 8, 0, 0, 0 },
		{ "$stack1:f64", SPEC_FLOAT, 8, 0, 0, 0 },
		{ "+8(%di):f64[3]", SPEC_FLOAT, 8, 0, 0, 3 },
		{ "%di:sb5@3/16", SPEC_SIGNED, 2, 5, 3, 0 },
		{ "+0(%di):sb64@0/64[2]", SPEC_SIGNED, 8, 64, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct spec_table *table = new_table(false);
		const struct spec_type *type;

		if (define(table, cases[i].text) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		type = &spec_table_probe(table, 0)->args[0].type;
		assert_int_equal(type->format, cases[i].format);
		assert_int_equal(type->size, cases[i].size);
		assert_int_equal(type->bit_width, cases[i].width);
		assert_int_equal(type->bit_offset, cases[i].offset);
		assert_int_equal(type->count, cases[i].count);
		spec_table_free(table);
		table = new_table(true);
		assert_int_equal(define(table, cases[i].text), -EINVAL);
		spec_table_free(table);
	}
}

/* Columns count from the start of "p:e /bin/x:1 ". */
#define X87 "f80 is read from memory, +0(ADDRESS), one by one, and not by entry()"

static void mistakes(void **state)
{
	static const struct {
		const char *args, *text;
		unsigned col;
	} cases[] = {
		{ "%nix", "Invalid register name", 0 },
		{ "%nix+8", "Invalid register name", 0 },
		{ "a=%di+%nix*4", "Invalid register name", 6 },
		{ "%di*3", "Scale of a register must be 1, 2, 4 or 8", 4 },
		{ "%di*", "Scale of a register must be 1, 2, 4 or 8", 4 },
		{ "%di+%si+%dx", "A sum has two registers at most, one of them with a scale",
		  8 },
		{ "%di*2+%si*4", "A sum has two registers at most, one of them with a scale",
		  6 },
		{ "%di-%si", "A register can only be added", 3 },
		{ "%di+%xmm1", "A vector register can't be part of a sum", 4 },
		{ "+8(%xmm1+8)", "A vector register can't be part of a sum", 3 },
		{ "%di+", "Invalid number in a sum", 4 },
		{ "%di+8x", "Invalid number in a sum", 4 },
		{ "%di+18446744073709551616", "Invalid number in a sum", 4 },
		{ "%di+-8", "Invalid number in a sum", 4 },
		{ "+0(%di+%si*8/2):u8", "Wanted is + or - in a sum", 12 },
		{ "%di:f16", "Unknown type is specified", 4 },
		{ "%di:sb4", "Unknown type is specified", 4 },
		{ "%di:sb9@0/8", "Invalid bitfield", 4 },
		{ "%di:sb0@0/8", "Invalid bitfield", 4 },
		{ "%xmm1:f64[2]", "String accepts only memory argument", 6 },
		{ "%xmm1:f80", X87, 6 },
		{ "+0(%di):f80[2]", X87, 8 },
		{ "$stack1:f80", X87, 8 },
		{ "%di+%si:string", "String accepts only memory argument", 8 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(cases); i++) {
		struct spec_table *table = new_table(false);

		assert_int_equal(define(table, cases[i].args), -EINVAL);
		assert_string_equal(err.text, cases[i].text);
		assert_true(err.has_caret);
		if (err.caret != 13 + cases[i].col)
			fail_msg("%s: caret %u, not %u", cases[i].args, err.caret - 13,
				 cases[i].col);
		spec_table_free(table);
	}
}

static void conflicts(void **state)
{
	struct spec_table *table = new_table(false);
	const char *other = "p:e /bin/x:2 arg1=%di:u64", *same = "p:e /bin/x:2 arg1=%di:f64";

	(void)state;
	assert_int_equal(define(table, "%xmm0:f64"), 0);
	assert_int_equal(spec_table_write(table, other, strlen(other), &err), -EEXIST);
	assert_string_equal(err.text, "Argument type or name is different from existing probe");
	assert_int_equal(spec_table_write(table, same, strlen(same), &err), 0);
	spec_table_free(table);
}

static void formats(void **state)
{
	struct spec_table *table = new_table(false);
	char text[2048];

	(void)state;
	assert_int_equal(define(table, "a=%xmm0:f64 b=+0(%di):f32[2] c=%di:sb3@0/8"), 0);
	spec_format_text(spec_table_probe(table, 0), 7, text, sizeof(text));
	assert_non_null(strstr(text, "\tfield:double a;\toffset:16;\tsize:8;\tsigned:1;\n"
				     "\tfield:float b[];\toffset:24;\tsize:8;\tsigned:1;\n"
				     "\tfield:s8 c;\toffset:32;\tsize:1;\tsigned:1;\n"));
	assert_non_null(strstr(text, "a=%.17g b={%.9g,%.9g} c=%d\", REC->__probe_ip, REC->a, "
				     "REC->b[0], REC->b[1], REC->c\n"));
	spec_table_free(table);
}

static void keeps_names(void **state)
{
	static const struct value_name name = { 1, "ONE" };
	static const struct value_names names = { .n = 1, .v = &name };
	struct spec_table *table = new_table(false);

	(void)state;
	assert_int_equal(define(table, "%di %si"), 0);
	spec_table_set_names(table, 0, 1, &names);
	assert_null(spec_table_probe(table, 0)->args[0].names);
	assert_ptr_equal(spec_table_probe(table, 0)->args[1].names, &names);
	spec_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),     cmocka_unit_test(types),
		cmocka_unit_test(mistakes), cmocka_unit_test(conflicts),
		cmocka_unit_test(formats),  cmocka_unit_test(keeps_names),
	};

	return cmocka_run_group_tests_name("values, parsed", tests, NULL, NULL);
}
