/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What DWARF computes, as fetch args write it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/dwarf/sum.h"

static void is_memory(const struct sum *s, const char *want)
{
	char text[64];

	assert_int_equal(sum_memory_text(s, text, sizeof(text)), strlen(want));
	assert_string_equal(text, want);
}

static void is_value(const struct sum *s, const char *want)
{
	char text[64];

	assert_int_equal(sum_value_text(s, text, sizeof(text)), strlen(want));
	assert_string_equal(text, want);
}

static void texts(void **state)
{
	struct sum s = sum_register("di", 0), file = sum_file(0x4010), number = sum_const(-5);

	(void)state;
	is_value(&s, "%di");
	is_memory(&s, "+0(%di)");
	sum_add_const(&s, 8);
	is_value(&s, "%di+8");
	is_memory(&s, "+8(%di)");
	assert_true(sum_read(&s));
	is_value(&s, "+8(%di)");
	sum_add_const(&s, -16);
	is_memory(&s, "-16(+8(%di))");
	is_value(&number, "\\-5");
	is_memory(&file, "@+0x4010");
	assert_true(sum_read(&file));
	sum_add_const(&file, 24);
	is_memory(&file, "+24(@+0x4010)");
	file = sum_file(-16);
	is_memory(&file, "@+-0x10");
	number = sum_const(0x601040);
	is_memory(&number, "@0x601040");
}

static void registers(void **state)
{
	struct sum s = sum_register("di", 8), index = sum_register("si", 2), more;
	char text[64];

	(void)state;
	assert_true(sum_shift(&index, 2));
	is_value(&index, "%si*4+8");
	assert_true(sum_add(&s, &index));
	is_value(&s, "%di+%si*4+16");
	is_memory(&s, "+16(%di+%si*4)");
	more = sum_register("ax", 0);
	assert_false(sum_add(&s, &more));
	s = sum_register("di", 0);
	assert_true(sum_add(&s, &more));
	is_value(&s, "%di+%ax");
	assert_true(sum_shift(&s, 1)); /* to be shifted back only */
	assert_int_equal(sum_value_text(&s, text, sizeof(text)), 0);
	s = sum_const(3);
	assert_true(sum_add(&s, &more));
	is_value(&s, "%ax+3");
	assert_true(sum_shift(&s, 4));
	assert_int_equal(sum_memory_text(&s, text, sizeof(text)), 0);
}

/* What can't be written is not written otherwise. */
static void refusals(void **state)
{
	struct sum s = sum_register("di", 0), file = sum_file(16), far;
	char text[64];

	(void)state;
	assert_true(sum_read(&s));
	sum_add_const(&s, 1); /* a number added to what was read */
	assert_int_equal(sum_value_text(&s, text, sizeof(text)), 0);
	assert_int_equal(sum_value_text(&file, text, sizeof(text)), 0);
	far = sum_register("di", INT64_C(1) << 31);
	assert_int_equal(sum_memory_text(&far, text, sizeof(text)), 0);
	s = sum_register("di", 0);
	for (int i = 0; i < SUM_READS_MAX; i++)
		assert_true(sum_read(&s));
	assert_false(sum_read(&s));
	assert_int_equal(sum_memory_text(&s, text, 32), 0); /* too long */
	s = sum_register("di", 0);
	assert_false(sum_and(&s, 0xff00));
	assert_true(sum_and(&s, 0xffffffff));
	assert_int_equal(s.bits, 32);
	assert_int_equal(s.above, SUM_ZEROES);
	assert_true(sum_and(&s, 1));
	assert_int_equal(s.bits, 1);
	assert_int_equal(s.above, SUM_ZEROES);
	sum_add_const(&s, 1); /* may carry */
	assert_int_equal(s.above, SUM_UNTOLD);
	assert_false(sum_read(&s)); /* half an address */
	assert_int_equal(sum_memory_text(&s, text, sizeof(text)), 0);
}

static void is_bits(const struct sum *s, unsigned low, unsigned bits, enum sum_above above)
{
	assert_int_equal(s->low, low);
	assert_int_equal(s->bits, bits);
	assert_int_equal(s->above, above);
	assert_false(s->up || s->is_lost);
}

/* Parts of a number: what is shifted, and shifted back. */
static void shifts(void **state)
{
	struct sum s = sum_register("di", 0), number = sum_const(-16);
	char text[64];

	(void)state;
	assert_true(sum_shift_right(&s, 4, false));
	is_bits(&s, 4, 60, SUM_ZEROES);
	is_value(&s, "%di");
	assert_true(sum_and(&s, 63));
	is_bits(&s, 4, 6, SUM_ZEROES);
	assert_true(sum_divide(&s, 4)); /* it has no sign */
	is_bits(&s, 6, 4, SUM_ZEROES);
	assert_false(sum_read(&s));
	s = sum_register("di", 0);
	assert_true(sum_shift(&s, 48)); /* a short, with its sign */
	assert_int_equal(sum_value_text(&s, text, sizeof(text)), 0);
	assert_true(sum_shift_right(&s, 48, true));
	is_bits(&s, 0, 16, SUM_SIGNS);
	assert_true(sum_shift_right(&s, 3, true));
	is_bits(&s, 3, 13, SUM_SIGNS);
	assert_true(sum_is_below_zero(&s));
	is_bits(&s, 15, 1, SUM_ZEROES);
	s = sum_register("di", 0);
	assert_true(sum_shift(&s, 32)); /* an int is negative */
	assert_true(sum_is_below_zero(&s));
	assert_true(sum_and(&s, 255));
	is_bits(&s, 31, 1, SUM_ZEROES);
	s = sum_register("di", 0);
	assert_true(sum_shift(&s, 32));
	assert_true(sum_shift_right(&s, 40, false));
	is_bits(&s, 8, 24, SUM_ZEROES);
	sum_add_const(&s, 1); /* not to that part */
	assert_int_equal(sum_value_text(&s, text, sizeof(text)), 0);
	s = sum_register("di", 0);
	assert_false(sum_rest(&s, 8)); /* below zero it would be another */
	assert_true(sum_and(&s, 31));
	assert_true(sum_rest(&s, 8));
	is_bits(&s, 0, 3, SUM_ZEROES);
	assert_false(sum_rest(&s, 6));
	/* clang's int: it is told as unsigned, and then shifted as if it had a sign. */
	s = sum_register("di", 0);
	sum_cut(&s, 32, SUM_ZEROES);
	assert_false(sum_shift(&s, 4)); /* and back would bring bits that it lost */
	assert_false(sum_shift_right(&s, 2, true));
	assert_false(sum_divide(&s, 4));
	assert_true(sum_shift_right(&s, 2, false));
	is_bits(&s, 2, 30, SUM_ZEROES);
	s = sum_register("di", 0);
	sum_cut(&s, 8, SUM_ZEROES);
	assert_true(sum_shift(&s, 56)); /* a signed char in a word */
	assert_true(sum_shift_right(&s, 56, true));
	is_bits(&s, 0, 8, SUM_SIGNS);
	/* An int that lost bits, in a long: what it was is still told. */
	s = sum_register("di", 0);
	assert_true(sum_shift(&s, 4));
	assert_true(sum_shift_right(&s, 4, true));
	assert_true(sum_shift(&s, 32));
	assert_true(sum_shift_right(&s, 32, true));
	is_bits(&s, 0, 32, SUM_SIGNS);
	assert_int_equal(s.back, 60);
	/* A sign is lost, what a division does to it is not a shift. */
	s = sum_register("di", 0);
	assert_false(sum_divide(&s, 4));
	assert_true(sum_shift_right(&s, 63, true));
	assert_true(sum_shift_right(&number, 2, true));
	is_value(&number, "\\-4");
	/* No more of memory than was told. */
	s = sum_register("di", 8);
	assert_true(sum_read(&s));
	sum_cut(&s, 32, SUM_ZEROES);
	assert_true(sum_shift_right(&s, 20, false));
	is_value(&s, "+8(%di)");
	assert_int_equal(sum_container(&s), 32);
	s = sum_register("di", 2);
	assert_true(sum_multiply(&s, 5));
	is_value(&s, "%di+%di*4+10");
	s = sum_register("di", 0);
	assert_false(sum_multiply(&s, 7));
	assert_false(sum_multiply(&s, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(registers),
		cmocka_unit_test(refusals),
		cmocka_unit_test(shifts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
