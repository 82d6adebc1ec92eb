/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/line_rows.h"

#include <dwarf.h>
#include <string.h>

/* A row takes three bytes or four as compilers write them; here one and what stands between them. */
#define TABLE_MAX (64u << 20)

struct reader {
	const uint8_t *at, *end;
};

/* @size bytes, at most 8, in this machine's order. 0 where they are not there; then nothing is left. */
static uint64_t take(struct reader *r, size_t size)
{
	uint32_t word;
	uint16_t half;
	uint64_t value = 0;

	if ((size_t)(r->end - r->at) < size) {
		r->at = r->end;
		return 0;
	}
	if (size == 8) {
		memcpy(&value, r->at, 8);
	} else if (size == 4) {
		memcpy(&word, r->at, 4);
		value = word;
	} else if (size == 2) {
		memcpy(&half, r->at, 2);
		value = half;
	} else {
		value = *r->at;
	}
	r->at += size;
	return value;
}

static void skip(struct reader *r, uint64_t len)
{
	r->at = len > (uint64_t)(r->end - r->at) ? r->end : r->at + len;
}

static uint64_t take_leb(struct reader *r)
{
	unsigned shift = 0;
	uint64_t value = 0;

	while (r->at < r->end) {
		uint8_t byte = *r->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

struct header {
	uint64_t len; /* with its names of files */
	uint8_t opcode_base;
	const uint8_t *n_args; /* behind operation 1, 2, ... */
};

/* The unit's length, and where its operations begin. @r is what is in the table then. */
static bool take_header(struct reader *r, struct header *ret)
{
	uint64_t len = take(r, 4);
	const size_t word = len == UINT32_MAX ? 8 : 4;
	struct reader program;
	unsigned version;

	if (word == 8)
		len = take(r, 8);
	if (len < (uint64_t)(r->end - r->at))
		r->end = r->at + len;
	version = (unsigned)take(r, 2);
	if (version >= 5)
		skip(r, 2); /* sizes of addresses and segments */
	ret->len = take(r, word);
	program = *r;
	skip(&program, ret->len);
	/* Length of instructions, [how many at once,] is_stmt, line_base, line_range. */
	skip(r, version >= 4 ? 5 : 4);
	ret->opcode_base = (uint8_t)take(r, 1);
	ret->n_args = r->at;
	if (r->at >= r->end || !ret->opcode_base ||
	    ret->opcode_base - 1 > (ptrdiff_t)(r->end - r->at))
		return false;
	*r = program;
	return true;
}

/*
 * One of those whose length stands before them. libdw takes that for one byte, and goes by it alone where it
 * does not know the operation. False: it is not as long as it should be, or a name of a file, as no compiler
 * has them here.
 */
static bool skip_extended(struct reader *r, uint32_t *n_rows)
{
	uint64_t len = take(r, 1);
	const uint8_t *begin = r->at;
	uint8_t op = (uint8_t)take(r, 1);

	switch (op) {
	case DW_LNE_end_sequence:
		++*n_rows;
		return len == 1;
	case DW_LNE_set_address:
		skip(r, len - 1);
		return len == 9 || len == 5;
	case DW_LNE_define_file:
		return false;
	case DW_LNE_set_discriminator:
		(void)take_leb(r);
		return len == (uint64_t)(r->at - begin);
	default:
		skip(r, len - 1);
		return len > 0 && len < 0x80;
	}
}

static bool skip_operation(struct reader *r, const struct header *header, uint32_t *n_rows)
{
	uint8_t op = (uint8_t)take(r, 1);

	if (op >= header->opcode_base) {
		++*n_rows;
		return true;
	}
	if (op == 0)
		return skip_extended(r, n_rows);
	*n_rows += op == DW_LNS_copy;
	/* Its number is no LEB. */
	if (op == DW_LNS_fixed_advance_pc)
		skip(r, 2);
	else
		for (unsigned n = header->n_args[op - 1]; n && r->at < r->end; n--)
			(void)take_leb(r);
	return true;
}

bool line_rows_are_many(const uint8_t *table, size_t len)
{
	struct reader r = { table, table + len };
	struct header header;
	uint32_t n = 0;

	if (!take_header(&r, &header))
		return false;
	if (header.len > LINE_ROWS_MAX || r.end - r.at > (ptrdiff_t)TABLE_MAX)
		return true;
	while (r.at < r.end && n <= LINE_ROWS_MAX) {
		const uint8_t *at = r.at;

		if (!skip_operation(&r, &header, &n))
			return r.end - at > (ptrdiff_t)(LINE_ROWS_MAX - n);
	}
	return n > LINE_ROWS_MAX;
}
