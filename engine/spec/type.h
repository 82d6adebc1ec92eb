/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The TYPE of a fetch arg: u32, string, b4@8/32, with [N] behind.
 */

#ifndef UBP_SPEC_TYPE_H
#define UBP_SPEC_TYPE_H

#include "engine/spec/parse.h"

/* EXPR[:TYPE[N]] cut at its marks. */
struct spec_body {
	struct spec_span all;
	struct spec_span expr;
	bool has_type;
	struct spec_span type; /* without [N] */
	uint16_t count;        /* 0: no [N] */
	/* Extended, what stands between the brackets of a string's or a dump's length: the name of an arg; or bytes of a dump. */
	struct spec_span len_name;
	uint16_t len_max;
};

/* Cut a body; @col is the column of its first byte. */
int spec_body_cut(const struct spec_parse *p, struct spec_span text, size_t col,
		  struct spec_body *ret);

/* The types by name, from 0 on; NULL: there are no more. */
const char *spec_type_name(size_t i);
/* Does @type, as it is written, stand for what is at an address: string, ustring, hex[N]? */
bool spec_type_is_text(struct spec_span type);

/*
 * The type by its name, x64 for none. A bit-field gets its container alone.
 * Returns false when there is no such type, @strict: in the kernel. Leaves ret->count
 * alone.
 */
bool spec_type_find(const struct spec_body *body, bool strict, struct spec_type *ret);

/*
 * The bW@O part of a bit-field, for a type that spec_type_find() gave. Returns
 * false when it is malformed or does not fit the container; true, and nothing
 * done, for other types.
 */
bool spec_type_bitfield(const struct spec_body *body, struct spec_type *type);

/* Are both one type to the kernel, which sees no difference between u8 and b1@0/8? */
bool spec_type_equal(const struct spec_type *a, const struct spec_type *b);

#endif
