/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Extended: sums of registers, %BASE+%INDEX*SCALE+DISP. Carets point at the mistake
 * itself, wherever it is: there is no kernel to be followed.
 */

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/num.h"
#include "engine/spec/chars.h"
#include "engine/spec/expr.h"

_Static_assert(SPEC_REG_VECTOR == UBP_REG_VECTOR, "spec.h and arch.h number alike");

/* A sum at work. */
struct sum {
	struct spec_expr *e;
	struct spec_span rest; /* what is not read yet */
};

static int fail_at(const struct sum *sum, const char *at, const char *text)
{
	return spec_fail(sum->e->p, EINVAL, spec_col(sum->e->p, at), text);
}

static size_t word_len(struct spec_span text)
{
	size_t n = 0;

	while (char_is_name(span_at(text, n)))
		n++;
	return n;
}

bool spec_is_sum(struct spec_span text)
{
	char next = span_at(text, 1 + word_len(span_from(text, text.s + 1)));

	return next == '+' || next == '-' || next == '*';
}

static void skip(struct sum *sum, size_t n)
{
	sum->rest = span_from(sum->rest, sum->rest.s + n);
}

/* REG, behind its '%'. */
static int read_register(struct sum *sum, uint16_t *ret_reg)
{
	struct spec_span name = span_until(sum->rest, sum->rest.s + word_len(sum->rest));
	int reg = spec_register(sum->e->p, name);

	if (reg < 0)
		return fail_at(sum, name.s - 1, "Invalid register name");
	if (reg >= UBP_REG_VECTOR)
		return fail_at(sum, name.s - 1, "A vector register can't be part of a sum");
	skip(sum, name.len);
	*ret_reg = (uint16_t)reg;
	return 0;
}

/* *SCALE, if there is one. */
static int read_scale(struct sum *sum, uint8_t *ret_shift)
{
	static const char *const scales[] = { "1", "2", "4", "8" };
	struct spec_span text;

	*ret_shift = 0;
	if (span_at(sum->rest, 0) != '*')
		return 0;
	skip(sum, 1);
	text = span_until(sum->rest, sum->rest.s + word_len(sum->rest));
	for (uint8_t i = 0; i < 4; i++) {
		if (span_is(text, scales[i])) {
			*ret_shift = i;
			skip(sum, text.len);
			return 0;
		}
	}
	return fail_at(sum, text.s, "Scale of a register must be 1, 2, 4 or 8");
}

/* %REG[*SCALE]: the one that is scaled is the index, else the second one. */
static int read_term(struct sum *sum)
{
	struct spec_arg *arg = sum->e->arg;
	const char *start = sum->rest.s;
	bool is_scaled;
	uint16_t reg = SPEC_NO_REG;
	uint8_t shift;
	int rc;

	skip(sum, 1);
	rc = read_register(sum, &reg);
	if (rc < 0)
		return rc;
	is_scaled = span_at(sum->rest, 0) == '*';
	rc = read_scale(sum, &shift);
	if (rc < 0)
		return rc;
	if (!is_scaled && arg->reg == SPEC_NO_REG) {
		arg->reg = reg;
		return 0;
	}
	if (arg->index_reg != SPEC_NO_REG)
		return fail_at(sum, start,
			       "A sum has two registers at most, one of them with a scale");
	arg->index_reg = reg;
	arg->index_shift = shift;
	return 0;
}

static int read_number(struct sum *sum, bool is_minus)
{
	struct spec_arg *arg = sum->e->arg;
	size_t len = word_len(sum->rest);
	uint64_t value = 0;

	if (!char_is_digit(span_at(sum->rest, 0)) || num_u64(sum->rest.s, len, 0, &value) < 0)
		return fail_at(sum, sum->rest.s, "Invalid number in a sum");
	skip(sum, len);
	arg->addend = (int64_t)((uint64_t)arg->addend + (is_minus ? -value : value));
	return 0;
}

int spec_parse_sum(struct spec_expr *e, struct spec_span text)
{
	struct sum sum = { e, text };
	char sign;
	int rc;

	e->arg->is_sum = true;
	e->arg->reg = e->arg->index_reg = SPEC_NO_REG;
	rc = read_term(&sum);
	while (rc == 0 && sum.rest.len > 0) {
		sign = span_at(sum.rest, 0);
		if (sign != '+' && sign != '-')
			return fail_at(&sum, sum.rest.s, "Wanted is + or - in a sum");
		skip(&sum, 1);
		if (span_at(sum.rest, 0) != '%')
			rc = read_number(&sum, sign == '-');
		else if (sign == '-')
			rc = fail_at(&sum, sum.rest.s - 1, "A register can only be added");
		else
			rc = read_term(&sum);
	}
	return rc;
}
