/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/type.h"

#include <errno.h>

#include "engine/base/num.h"
#include "engine/spec/env.h"

/* Extended: the number of bytes of hex[N], or the name of the argument that tells that, or how long a string is. */
static bool is_length(const struct spec_parse *p, struct spec_span type, struct spec_span size)
{
	bool is_dump = span_is(type, "hex");

	if (p->env->strict ||
	    (!is_dump && !span_is(type, "string") && !span_is(type, "ustring")))
		return false;
	return is_dump || span_is_identifier(size);
}

static int parse_length(const struct spec_parse *p, struct spec_body *body,
			struct spec_span size, size_t col)
{
	uint64_t n;

	if (span_is_identifier(size)) {
		body->len_name = size;
		return 0;
	}
	if (num_u64(size.s, size.len, 0, &n) < 0 || n == 0 || n > SPEC_DUMP_MAX)
		return spec_fail(p, EINVAL, col,
				 "A dump has 1 to 1024 bytes, or as many as an argument says");
	body->len_max = (uint16_t)n;
	return 0;
}

/* The [N] of a type: body->type loses it. */
static int parse_count(const struct spec_parse *p, struct spec_body *body, size_t col)
{
	struct spec_span text = body->all, size;
	const char *open = span_find(body->type, '['), *close;
	uint64_t count;

	if (!open)
		return 0;
	size = span_from(body->type, open + 1);
	body->type = span_until(body->type, open);
	close = span_find(size, ']');
	if (!close)
		return spec_fail(p, EINVAL, col + text.len, "Array is not closed");
	if (close + 1 != size.s + size.len)
		return spec_fail(p, EINVAL, col + (size_t)(close + 1 - text.s),
				 "Array has wrong suffix");
	size = span_until(size, close);
	col += (size_t)(size.s - text.s);
	if (is_length(p, body->type, size))
		return parse_length(p, body, size, col);
	if (num_u64(size.s, size.len, 0, &count) < 0 || count == 0 || count > UINT32_MAX)
		return spec_fail(p, EINVAL, col, "Invalid array size");
	if (count > SPEC_ARRAY_MAX)
		return spec_fail(p, EINVAL, col, "Array number is too big");
	body->count = (uint16_t)count;
	return 0;
}

int spec_body_cut(const struct spec_parse *p, struct spec_span text, size_t col,
		  struct spec_body *ret)
{
	const char *colon = span_find(text, ':');

	*ret = (struct spec_body){ .all = text, .expr = text };
	if (!colon)
		return 0;
	ret->expr = span_until(text, colon);
	ret->has_type = true;
	ret->type = span_from(text, colon + 1);
	return parse_count(p, ret, col);
}

/* clang-format off */
static const struct {
	const char *name;
	struct spec_type type;
} types[] = {
	{ "u8", { .format = SPEC_UNSIGNED, .size = 1 } },
	{ "u16", { .format = SPEC_UNSIGNED, .size = 2 } },
	{ "u32", { .format = SPEC_UNSIGNED, .size = 4 } },
	{ "u64", { .format = SPEC_UNSIGNED, .size = 8 } },
	{ "s8", { .format = SPEC_SIGNED, .size = 1 } },
	{ "s16", { .format = SPEC_SIGNED, .size = 2 } },
	{ "s32", { .format = SPEC_SIGNED, .size = 4 } },
	{ "s64", { .format = SPEC_SIGNED, .size = 8 } },
	{ "x8", { .format = SPEC_HEX, .size = 1 } },
	{ "x16", { .format = SPEC_HEX, .size = 2 } },
	{ "x32", { .format = SPEC_HEX, .size = 4 } },
	{ "x64", { .format = SPEC_HEX, .size = 8 } },
	{ "char", { .format = SPEC_CHAR, .size = 1 } },
	{ "string", { .format = SPEC_STRING, .size = 4 } },
	{ "ustring", { .format = SPEC_STRING, .is_ustring = true, .size = 4 } },
	/* Extended, and last. */
	{ "f32", { .format = SPEC_FLOAT, .size = 4 } },
	{ "f64", { .format = SPEC_FLOAT, .size = 8 } },
	{ "f80", { .format = SPEC_FLOAT, .is_x87 = true, .size = 8 } },
	{ "hex", { .format = SPEC_STRING, .is_dump = true, .size = 4 } },
};
/* clang-format on */

#define N_TYPES    (sizeof(types) / sizeof(types[0]))
#define N_EXTENDED 4

bool spec_type_is_text(struct spec_span type)
{
	return span_starts(type, "string") || span_starts(type, "ustring") ||
	       span_starts(type, "hex[");
}

const char *spec_type_name(size_t i)
{
	return i < N_TYPES ? types[i].name : NULL;
}

static bool find_by_name(struct spec_span name, bool strict, struct spec_type *ret)
{
	for (size_t i = 0; i < N_TYPES - (strict ? N_EXTENDED : 0); i++) {
		if (span_is(name, types[i].name)) {
			*ret = types[i].type;
			return true;
		}
	}
	return false;
}

/* Whatever begins with a 'b' is a bit-field; what is before the '/' is read later. */
static bool find_container(struct spec_span name, struct spec_type *ret)
{
	const char *slash = span_find(name, '/');
	struct spec_span size;
	uint64_t bits;

	if (!slash)
		return false;
	size = span_from(name, slash + 1);
	if (num_u64(size.s, size.len, 0, &bits) < 0)
		return false;
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return false;
	*ret = (struct spec_type){ .format = SPEC_UNSIGNED, .size = (uint8_t)(bits / 8) };
	return true;
}

/* Extended: a bit-field with a sign, sbW@O/C. */
static bool is_signed_bits(struct spec_span name)
{
	return span_starts(name, "sb");
}

bool spec_type_find(const struct spec_body *body, bool strict, struct spec_type *ret)
{
	if (!body->has_type) {
		*ret = (struct spec_type){ .format = SPEC_HEX, .is_default = true, .size = 8 };
		return true;
	}
	if (span_at(body->type, 0) == 'b')
		return find_container(body->type, ret);
	if (!strict && is_signed_bits(body->type)) {
		bool is_known = find_container(body->type, ret);

		ret->format = SPEC_SIGNED;
		return is_known;
	}
	return find_by_name(body->type, strict, ret);
}

bool spec_type_bitfield(const struct spec_body *body, struct spec_type *type)
{
	struct spec_span text = body->type;
	uint64_t width, offset, bits = type->size * 8u;
	size_t n;

	if (!body->has_type || (span_at(text, 0) != 'b' && !is_signed_bits(text)))
		return true;
	text = span_from(text, text.s + (is_signed_bits(text) ? 2 : 1));
	n = num_scan(text.s, text.len, &width);
	if (width == 0 || span_at(text, n) != '@')
		return false;
	text = span_from(text, text.s + n + 1);
	n = num_scan(text.s, text.len, &offset);
	if (n == 0 || span_at(text, n) != '/')
		return false;
	/* The kernel lets the sum wrap around; such a field has no defined value. */
	if (width + offset > bits)
		return false;
	type->bit_width = (uint8_t)(width > bits ? bits : width);
	type->bit_offset = (uint8_t)(offset >= bits ? 0 : offset);
	return true;
}

bool spec_type_equal(const struct spec_type *a, const struct spec_type *b)
{
	return a->format == b->format && a->size == b->size && a->is_ustring == b->is_ustring &&
	       a->is_dump == b->is_dump && a->is_x87 == b->is_x87 && a->count == b->count;
}
