/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/sum.h"

#include <inttypes.h>

#include "engine/spec/out.h"
#include "engine/spec/sum_text.h"

struct sum sum_const(int64_t value)
{
	return (struct sum){ .base = SUM_CONST, .bits = 64, .addend = { value } };
}

struct sum sum_register(const char *name, int64_t addend)
{
	return (struct sum){ .base = SUM_REG, .reg = name, .bits = 64, .addend = { addend } };
}

struct sum sum_file(int64_t offset)
{
	return (struct sum){ .base = SUM_FILE, .bits = 64, .addend = { offset } };
}

void sum_add_const(struct sum *s, int64_t value)
{
	s->addend[s->n] = (int64_t)((uint64_t)s->addend[s->n] + (uint64_t)value);
	if (!value)
		return;
	s->above = SUM_UNTOLD; /* a carry */
	s->is_lost |= s->low || s->up;
}

/* Registers of both in one; there is room for two, and one that is scaled. */
static bool join(struct sum *s, const struct sum *other)
{
	const char *plain[3], *scaled = NULL;
	uint8_t shift = 0;
	size_t n = 0;

	for (const struct sum *each = s; each; each = each == s ? other : NULL) {
		if (each->reg)
			plain[n++] = each->reg;
		if (!each->index)
			continue;
		if (scaled)
			return false;
		scaled = each->index;
		shift = each->shift;
	}
	if (n > 2 || (n == 2 && scaled))
		return false;
	s->reg = n > 0 ? plain[0] : NULL;
	s->index = n == 2 ? plain[1] : scaled;
	s->shift = n == 2 ? 0 : shift;
	return true;
}

static bool is_plain(const struct sum *s)
{
	return !s->low && !s->up && !s->is_lost;
}

bool sum_add(struct sum *s, const struct sum *other)
{
	uint8_t bits = s->bits < other->bits ? s->bits : other->bits;
	struct sum mine = *s;

	if (!is_plain(s) || !is_plain(other))
		return false;
	if (sum_is_const(s)) {
		*s = *other;
		sum_add_const(s, mine.addend[0]);
	} else if (sum_is_const(other)) {
		sum_add_const(s, other->addend[0]);
	} else if (s->base == SUM_REG && other->base == SUM_REG && s->n == 0 && other->n == 0) {
		if (!join(s, other))
			return false;
		sum_add_const(s, other->addend[0]);
	} else {
		return false;
	}
	s->bits = bits;
	if (!sum_is_const(&mine) && !sum_is_const(other))
		s->above = SUM_UNTOLD;
	return true;
}

/* As a scaled register. */
static bool scale(struct sum *s, uint64_t bits)
{
	if (s->base != SUM_REG || s->n != 0 || bits > 3 || (s->reg && s->index) ||
	    !is_plain(s) || s->shift + bits > 3)
		return false;
	if (s->reg) {
		s->index = s->reg;
		s->shift = 0;
		s->reg = NULL;
	}
	s->shift += (uint8_t)bits;
	s->addend[0] = (int64_t)((uint64_t)s->addend[0] << bits);
	s->above = SUM_UNTOLD;
	return true;
}

bool sum_shift(struct sum *s, uint64_t bits)
{
	if (bits > 63 || s->is_lost)
		return false;
	if (bits == 0)
		return true;
	if (sum_is_const(s)) {
		s->addend[0] = (int64_t)((uint64_t)s->addend[0] << bits);
		return true;
	}
	if (scale(s, bits))
		return true;
	/* It may be shifted back. Bits that a narrower number loses at its top are not told. */
	if (s->up || s->bits + bits < 64)
		return false;
	s->up = (uint8_t)bits;
	return true;
}

/* What .up took off at the top is gone; the number is made whole again by as many bits. */
static bool shift_back(struct sum *s, unsigned bits, bool is_signed)
{
	if (bits < s->up)
		return false;
	if (s->bits + s->up >= 64)
		sum_cut(s, 64u - s->up, is_signed ? SUM_SIGNS : SUM_ZEROES);
	else if (s->above == SUM_SIGNS && !is_signed)
		s->above = SUM_UNTOLD;
	s->up = 0;
	if (s->back < s->low + s->bits)
		s->back = (uint8_t)(s->low + s->bits);
	return true;
}

/* As many bits as a type has: clang tells ints as unsigned ones, and divides or shifts them as if they had a sign. */
static bool may_have_sign(const struct sum *s)
{
	unsigned end = s->low + s->bits;

	return s->bits == 64 || s->above != SUM_ZEROES || end == 8 || end == 16 || end == 32;
}

bool sum_shift_right(struct sum *s, uint64_t bits, bool is_signed)
{
	unsigned up = s->up;
	enum sum_above above;

	if (bits > 63 || s->is_lost)
		return false;
	if (sum_is_const(s)) {
		s->addend[0] = is_signed ? s->addend[0] >> bits
					 : (int64_t)((uint64_t)s->addend[0] >> bits);
		return true;
	}
	if (bits == 0)
		return true;
	if (is_signed && !up && s->bits < 64 && s->above == SUM_ZEROES && may_have_sign(s))
		return false;
	if (up && !shift_back(s, (unsigned)bits, is_signed))
		return false;
	bits -= up;
	if (bits >= s->bits)
		return false;
	above = s->bits == 64 ? (is_signed ? SUM_SIGNS : SUM_ZEROES) : s->above;
	if (bits && above == SUM_SIGNS && !is_signed)
		above = SUM_UNTOLD;
	s->low += (uint8_t)bits;
	s->bits -= (uint8_t)bits;
	s->above = above;
	return true;
}

bool sum_multiply(struct sum *s, int64_t by)
{
	if (by <= 0)
		return false;
	if ((by & (by - 1)) == 0)
		return sum_shift(s, (uint64_t)__builtin_ctzll((uint64_t)by));
	/* "%di+%di*2" */
	if ((by != 3 && by != 5 && by != 9) || s->base != SUM_REG || s->n || s->index ||
	    !is_plain(s) || __builtin_mul_overflow(s->addend[0], by, &s->addend[0]))
		return false;
	s->index = s->reg;
	s->shift = (uint8_t)__builtin_ctzll((uint64_t)by - 1);
	s->above = SUM_UNTOLD;
	return true;
}

bool sum_divide(struct sum *s, int64_t by)
{
	if (by <= 0 || (by & (by - 1)))
		return false;
	/* Towards zero: only what has no sign is shifted. */
	return !s->up && !may_have_sign(s) &&
	       sum_shift_right(s, (uint64_t)__builtin_ctzll((uint64_t)by), false);
}

bool sum_rest(struct sum *s, uint64_t by)
{
	return by && !(by & (by - 1)) && !s->up && !may_have_sign(s) && sum_and(s, by - 1);
}

bool sum_is_below_zero(struct sum *s)
{
	if (s->is_lost || sum_is_const(s))
		return false;
	if (s->up && !shift_back(s, s->up, true))
		return false;
	if (s->bits < 64 && s->above != SUM_SIGNS)
		return false;
	s->low += s->bits - 1;
	s->bits = 1;
	s->above = SUM_ZEROES;
	return true;
}

bool sum_and(struct sum *s, uint64_t mask)
{
	unsigned bits = mask == UINT64_MAX ? 64 : (unsigned)__builtin_ctzll(~mask);

	if (sum_is_const(s)) {
		s->addend[0] = (int64_t)((uint64_t)s->addend[0] & mask);
		return true;
	}
	if (bits == 0 || (bits < 64 && mask >> bits) || s->up || s->is_lost)
		return false;
	if (bits <= s->bits)
		sum_cut(s, bits, SUM_ZEROES);
	else if (s->above == SUM_SIGNS && bits < 64)
		s->above = SUM_UNTOLD;
	return true;
}

void sum_cut(struct sum *s, unsigned bits, enum sum_above above)
{
	if (bits >= 64 || bits > s->bits)
		return;
	s->bits = (uint8_t)bits;
	s->above = above;
}

bool sum_read(struct sum *s)
{
	if (s->n == SUM_READS_MAX || s->bits != 64 || !is_plain(s))
		return false;
	s->n++;
	s->addend[s->n] = 0;
	s->above = SUM_UNTOLD;
	return true;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

unsigned sum_container(const struct sum *s)
{
	unsigned bits = 8;

	while (s->n && bits < s->low + s->bits)
		bits *= 2;
	return s->n ? bits : 64;
}

static void put_registers(struct spec_out *out, const struct sum *s, int64_t addend)
{
	spec_out_sum(out, s->reg, s->index, 1u << s->shift, addend);
}

static size_t done(const struct spec_out *out)
{
	return out->len < out->size ? out->len : 0;
}

size_t sum_memory_text(const struct sum *s, char *text, size_t size)
{
	struct spec_out t = { text, size, 0 };
	unsigned last = s->base == SUM_REG ? 0 : 1; /* the others read memory by themselves */

	/* A dereference takes 32 bits. */
	for (unsigned i = last; i <= s->n; i++)
		if (s->addend[i] != (int32_t)s->addend[i])
			return 0;
	if (s->bits != 64 || !is_plain(s))
		return 0;
	for (unsigned i = s->n + 1; i-- > last;) {
		spec_out_signed(&t, s->addend[i]);
		spec_out_add(&t, "(");
	}
	if (s->base == SUM_REG)
		put_registers(&t, s, 0);
	else if (s->base == SUM_CONST)
		spec_out_add(&t, "@0x%" PRIx64, (uint64_t)s->addend[0]);
	else
		spec_out_add(&t, "@+%s0x%" PRIx64, s->addend[0] < 0 ? "-" : "",
			     magnitude(s->addend[0]));
	for (unsigned i = last; i <= s->n; i++)
		spec_out_add(&t, ")");
	return done(&t);
}

size_t sum_value_text(const struct sum *s, char *text, size_t size)
{
	struct spec_out t = { text, size, 0 };
	struct sum memory = *s;

	if (s->is_lost || s->up)
		return 0;
	if (s->n > 0) {
		if (s->addend[s->n])
			return 0;
		memory.n--;
		memory.low = 0;
		memory.bits = 64;
		return sum_memory_text(&memory, text, size);
	}
	if (s->base == SUM_FILE)
		return 0;
	if (s->base == SUM_REG)
		put_registers(&t, s, s->addend[0]);
	else
		spec_out_add(&t, "\\%" PRId64, s->addend[0]);
	return done(&t);
}
