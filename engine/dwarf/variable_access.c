/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/variable_access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/dwarf/die.h"

/* EXPR:TYPE of a fetch arg. */
#define TEXT_MAX 63

static int gone(struct ubp_err *err)
{
	return ubp_fail(err, ENODATA, "This part of it is optimised out here");
}

static int too_long(struct ubp_err *err)
{
	return ubp_fail(err, ENOTSUP,
			"It is too far away for a fetch arg: more than %d bytes of "
			"text, or an offset over 31 bits",
			TEXT_MAX);
}

/*
 * The piece that holds @bits from .bit_at on; *ret_at is where they start in it. 0: what
 * starts there.
 */
static int find_piece(const struct part *part, uint64_t bits, const struct piece **ret_piece,
		      uint64_t *ret_at, struct ubp_err *err)
{
	uint64_t start = 0;

	for (size_t i = 0; i < part->location.n; i++) {
		const struct piece *piece = &part->location.pieces[i];
		uint64_t at = part->bit_at - start;

		if (part->bit_at < start)
			break;
		start += piece->bit_size;
		if (piece->bit_size && part->bit_at >= start)
			continue;
		if (piece->bit_size && part->bit_at + bits > start)
			return ubp_fail(
				err, ENOTSUP,
				"It lies in several pieces: choose a member or an element");
		if (piece->kind == PIECE_GONE)
			return gone(err);
		*ret_piece = piece;
		*ret_at = at;
		return 0;
	}
	return gone(err);
}

static bool constant_of(const struct piece *piece, uint64_t at, uint64_t bits,
			uint64_t *ret_value)
{
	uint64_t value = 0;

	if (at % 8 || at / 8 > piece->n_bytes || bits > 64 ||
	    (bits + 7) / 8 > piece->n_bytes - at / 8)
		return false;
	memcpy(&value, piece->bytes + at / 8, (size_t)((bits + 7) / 8));
	*ret_value = value;
	return true;
}

/* --- pointers --------------------------------------------------------------------- */

/* A pointer to what is gone, of which the debug information still tells parts. */
static int follow_implicit(struct part *part, const struct location_at *at,
			   const struct piece *piece, struct ubp_err *err)
{
	Dwarf_Die target = piece->target;
	int64_t offset = piece->target_offset;
	const char *name = dw_name(&target);
	int rc = location_of(at, &target, name ? name : "What it points to", &part->location,
			     err);

	if (rc < 0)
		return rc;
	part->bit_at = 0;
	return part_move(part, at, offset, err);
}

static int pointer_value(const struct piece *piece, uint64_t at, unsigned bits, struct sum *sum,
			 struct ubp_err *err)
{
	uint64_t value;

	switch (piece->kind) {
	case PIECE_MEMORY:
		*sum = piece->sum;
		if (at % 8)
			return ubp_fail(err, ENOTSUP,
					"It is a pointer in the middle of a byte");
		sum_add_const(sum, (int64_t)(at / 8));
		if (!sum_read(sum))
			return ubp_fail(err, ENOTSUP, "It is too much nested");
		return 0;
	case PIECE_VALUE:
	case PIECE_REGISTER:
		*sum = piece->sum;
		if (at || piece->is_vector || (sum->bits < bits))
			return ubp_fail(err, ENOTSUP,
					"It is a pointer in a part of a register");
		sum->bits = 64;
		return 0;
	case PIECE_BYTES:
		if (!constant_of(piece, at, bits, &value))
			return gone(err);
		*sum = sum_const((int64_t)value);
		return 0;
	default:
		return gone(err);
	}
}

int part_follow(struct part *part, const struct location_at *at, struct ubp_err *err)
{
	const struct piece *piece = NULL;
	struct piece memory = { .kind = PIECE_MEMORY };
	uint64_t piece_at;
	int rc;

	if (part->bit_size)
		return ubp_fail(err, ENOTSUP, "A bit-field is no pointer");
	rc = find_piece(part, at->addr_size * 8u, &piece, &piece_at, err);
	if (rc < 0 || !piece)
		return rc;
	if (piece->kind == PIECE_POINTER)
		return follow_implicit(part, at, piece, err);
	rc = pointer_value(piece, piece_at, at->addr_size * 8u, &memory.sum, err);
	if (rc < 0)
		return rc;
	part->location = (struct location){ .n = 1 };
	part->location.pieces[0] = memory;
	part->bit_at = 0;
	return 0;
}

int part_move(struct part *part, const struct location_at *at, int64_t bytes,
	      struct ubp_err *err)
{
	struct location *l = &part->location;

	(void)at;
	if (bytes >= 0) {
		part->bit_at += (uint64_t)bytes * 8;
		return 0;
	}
	if (l->n != 1 || l->pieces[0].kind != PIECE_MEMORY)
		return ubp_fail(err, ENOTSUP, "It lies before what is known");
	sum_add_const(&l->pieces[0].sum, bytes);
	return 0;
}

/* --- texts ------------------------------------------------------------------------- */

static int finish(struct dwarf_value *value, size_t len, const char *type, struct ubp_err *err)
{
	if (len == 0 || len + 1 + strlen(type) > TEXT_MAX || strlen(type) >= DWARF_TYPE_MAX)
		return too_long(err);
	memcpy(value->type, type, strlen(type) + 1);
	return 0;
}

static int put_constant(struct dwarf_value *value, uint64_t number,
			const struct type_facts *facts, struct ubp_err *err)
{
	struct sum sum;
	unsigned spare = 64 - facts->size * 8;

	if (spare && facts->is_signed)
		number = (uint64_t)((int64_t)(number << spare) >> spare);
	else if (spare)
		number = number << spare >> spare;
	sum = sum_const((int64_t)number);
	return finish(value, sum_value_text(&sum, value->expr, sizeof(value->expr)),
		      facts->spelling, err);
}

/* "b3@2/8", and "sb3@2/8" of what has a sign. */
static int put_bits(struct dwarf_value *value, const struct sum *sum, bool is_memory,
		    const struct type_facts *facts, unsigned bits, unsigned at,
		    unsigned container, struct ubp_err *err)
{
	char type[DWARF_TYPE_MAX];
	size_t len;

	snprintf(type, sizeof(type), "%sb%u@%u/%u", facts->is_signed ? "s" : "", bits, at,
		 container);
	len = is_memory ? sum_memory_text(sum, value->expr, sizeof(value->expr))
			: sum_value_text(sum, value->expr, sizeof(value->expr));
	return finish(value, len, type, err);
}

/* The smallest container that lies as its size asks for, else any that holds it. */
static int memory_bits(struct dwarf_value *value, const struct sum *address, uint64_t at,
		       unsigned bits, const struct type_facts *facts, struct ubp_err *err)
{
	struct sum sum = *address;

	for (unsigned size = 8; size <= 64; size *= 2)
		if (at % size + bits <= size) {
			sum_add_const(&sum, (int64_t)(at / size * (size / 8)));
			return put_bits(value, &sum, true, facts, bits, (unsigned)(at % size),
					size, err);
		}
	for (unsigned size = 8; size <= 64; size *= 2)
		if (at % 8 + bits <= size) {
			sum_add_const(&sum, (int64_t)(at / 8));
			return put_bits(value, &sum, true, facts, bits, (unsigned)(at % 8),
					size, err);
		}
	return ubp_fail(err, ENOTSUP, "No container holds this bit-field");
}

static int memory_scalar(const struct part *part, const struct piece *piece, uint64_t at,
			 const struct type_facts *facts, struct dwarf_value *value,
			 struct ubp_err *err)
{
	struct sum sum = piece->sum;

	if (part->bit_size)
		return memory_bits(value, &sum, at, part->bit_size, facts, err);
	if (at % 8)
		return ubp_fail(err, ENOTSUP, "It starts in the middle of a byte");
	sum_add_const(&sum, (int64_t)(at / 8));
	return finish(value, sum_memory_text(&sum, value->expr, sizeof(value->expr)),
		      facts->spelling, err);
}

static uint64_t low_bits(uint64_t number, unsigned bits, bool is_signed)
{
	unsigned spare = bits < 64 ? 64 - bits : 0;

	number <<= spare;
	return is_signed ? (uint64_t)((int64_t)number >> spare) : number >> spare;
}

/* Fewer bits than its type has, and what stands above them is known: "u8", "b1@0/64". */
static int cut_scalar(const struct piece *piece, const struct type_facts *facts,
		      struct dwarf_value *value, struct ubp_err *err)
{
	const struct sum *sum = &piece->sum;
	struct type_facts cut = *facts;
	size_t len;

	if (sum->above == SUM_UNTOLD || facts->kind == TYPE_FLOAT ||
	    (sum->above == SUM_SIGNS && !facts->is_signed))
		return ubp_fail(err, ENOTSUP, "Only a part of its value is told");
	cut.is_signed = sum->above == SUM_SIGNS;
	if (sum->low || (sum->bits != 8 && sum->bits != 16 && sum->bits != 32))
		return put_bits(value, sum, false, &cut, sum->bits, sum->low,
				sum_container(sum), err);
	snprintf(cut.spelling, sizeof(cut.spelling), "%c%u",
		 facts->spelling[0] == 'x' ? 'x'
		 : cut.is_signed           ? 's'
					   : 'u',
		 sum->bits);
	len = sum_value_text(sum, value->expr, sizeof(value->expr));
	return len ? finish(value, len, cut.spelling, err)
		   : ubp_fail(err, ENOTSUP,
			      "It is computed from memory: no fetch arg can do that");
}

/*
 * Is it computed from bits of a register that its type does not have? Only the compiler knows whether the number there
 * is as wide: above a narrower one stands anything.
 */
static bool is_of_more(const struct sum *sum, uint64_t at, unsigned bits,
		       const struct type_facts *facts)
{
	unsigned size = facts->size * 8, end = sum->low + sum->bits;

	if (sum->base != SUM_REG || sum->n)
		return false;
	/* An int that was computed, and then made a long: the upper half may be in it. */
	if (size >= 64)
		return (sum->low && sum->low < 32 && end > 32 && end < 64) ||
		       (end <= 32 && sum->back > 32);
	if (bits > sum->bits)
		bits = sum->bits;
	return (sum->low && at + sum->low + bits > size) || sum->back > size;
}

/* In a register, or computed of some. */
static int register_scalar(const struct piece *piece, uint64_t at, unsigned bits,
			   const struct type_facts *facts, struct dwarf_value *value,
			   struct ubp_err *err)
{
	const struct sum *sum = &piece->sum;
	size_t len;

	if (sum_is_const(sum))
		return at >= 64 ? gone(err)
				: put_constant(value,
					       low_bits((uint64_t)sum->addend[0] >> at, bits,
							facts->is_signed),
					       facts, err);
	if (sum->up || sum->is_lost || is_of_more(sum, at, bits, facts))
		return ubp_fail(err, ENOTSUP, "It is computed: no fetch arg can do that");
	/* Where LLVM moves a value to the stack it may forget to say that it is to be read there. */
	if (piece->is_stack && (at || bits < 64 || sum->bits < 64))
		return ubp_fail(err, ENOTSUP,
				"Its value is told to be a part of an address on the stack, "
				"which is a mistake of the compiler");
	if (at == 0 && bits > sum->bits)
		return cut_scalar(piece, facts, value, err);
	if (at + bits > sum->bits)
		return ubp_fail(err, ENOTSUP, "Only a part of its value is told");
	if (at == 0 && bits == facts->size * 8 && !sum->low) {
		len = sum_value_text(sum, value->expr, sizeof(value->expr));
		return len ? finish(value, len, facts->spelling, err)
			   : ubp_fail(err, ENOTSUP,
				      "It is computed from memory: no fetch arg can do that");
	}
	if (piece->is_vector || (sum->n && sum->addend[sum->n]) || facts->kind == TYPE_FLOAT)
		return ubp_fail(err, ENOTSUP,
				"It is a part of a register that no fetch arg gets");
	return put_bits(value, sum, false, facts, bits, (unsigned)at + sum->low,
			sum_container(sum), err);
}

static int no_memory(struct ubp_err *err)
{
	return ubp_fail(err, ENOTSUP, "A long double that is not in memory cannot be had");
}

int part_scalar(const struct part *part, const struct type_facts *facts,
		struct dwarf_value *ret_value, struct ubp_err *err)
{
	unsigned bits = part->bit_size ? part->bit_size : facts->size * 8;
	const struct piece *piece = NULL;
	uint64_t at, number;
	int rc;

	if (bits > 64 || bits > facts->size * 8)
		return ubp_fail(err, ENOTSUP, "It has more bits than a fetch arg");
	rc = find_piece(part, bits, &piece, &at, err);
	if (rc < 0 || !piece)
		return rc;
	switch (piece->kind) {
	case PIECE_MEMORY:
		return memory_scalar(part, piece, at, facts, ret_value, err);
	case PIECE_VALUE:
	case PIECE_REGISTER:
		return facts->is_x87 ? no_memory(err)
				     : register_scalar(piece, at, bits, facts, ret_value, err);
	case PIECE_BYTES:
		if (facts->is_x87)
			return no_memory(err);
		if (!constant_of(piece, at - at % 8, bits + at % 8, &number))
			return gone(err);
		return put_constant(ret_value,
				    low_bits(number >> at % 8, bits, facts->is_signed), facts,
				    err);
	case PIECE_POINTER:
		return ubp_fail(
			err, ENODATA,
			"It points to what is optimised out: only parts of that can be had");
	default:
		return gone(err);
	}
}

int part_typed(const struct part *part, unsigned size, const char *type,
	       struct dwarf_value *ret_value, struct ubp_err *err)
{
	struct type_facts facts = { .kind = TYPE_NUMBER };
	const char *digits = type + strcspn(type, "0123456789");
	unsigned long bits = strcmp(type, "char") == 0 ? 8 : strtoul(digits, NULL, 10);

	if (strchr(type, '@')) { /* a bit-field of the user's own */
		if (part->bit_size)
			return ubp_fail(err, ENOTSUP, "It is a bit-field: leave the type out");
		return part_memory(part, type, ret_value, err);
	}
	if (strcmp(type, "f80") == 0) {
		facts.is_x87 = true;
		bits = 64;
	}
	if ((bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
	    strlen(type) >= sizeof(facts.spelling))
		return ubp_fail(err, ENOTSUP, "Unknown type '%s'", type);
	if (size && bits > size * 8)
		return ubp_fail(err, EINVAL, "It has %u byte%s, not %lu", size,
				size == 1 ? "" : "s", bits / 8);
	facts.size = (unsigned)bits / 8;
	facts.is_signed = type[0] == 's';
	if (type[0] == 'f')
		facts.kind = TYPE_FLOAT;
	memcpy(facts.spelling, type, strlen(type) + 1);
	return part_scalar(part, &facts, ret_value, err);
}

static int address_of(const struct part *part, struct sum *ret_sum, struct ubp_err *err)
{
	const struct piece *piece = NULL;
	uint64_t at;
	int rc = find_piece(part, 0, &piece, &at, err);

	if (rc < 0 || !piece)
		return rc;
	if (piece->kind != PIECE_MEMORY || part->bit_size || at % 8)
		return ubp_fail(err, ENOTSUP, "It is not in memory here, but %s",
				piece->kind == PIECE_REGISTER ? "in a register" : "a value");
	*ret_sum = piece->sum;
	sum_add_const(ret_sum, (int64_t)(at / 8));
	return 0;
}

int part_memory(const struct part *part, const char *type, struct dwarf_value *ret_value,
		struct ubp_err *err)
{
	struct sum sum;
	int rc = address_of(part, &sum, err);

	return rc < 0 ? rc
		      : finish(ret_value,
			       sum_memory_text(&sum, ret_value->expr, sizeof(ret_value->expr)),
			       type, err);
}

static int put_address(const struct sum *sum, struct dwarf_value *value, struct ubp_err *err)
{
	size_t len = sum_value_text(sum, value->expr, sizeof(value->expr));

	if (len == 0)
		return ubp_fail(err, ENOTSUP,
				"Its address is nothing that a fetch arg can give");
	return finish(value, len, "x64", err);
}

int part_address(const struct part *part, struct dwarf_value *ret_value, struct ubp_err *err)
{
	struct sum sum;
	int rc = address_of(part, &sum, err);

	return rc < 0 ? rc : put_address(&sum, ret_value, err);
}

int part_base(const struct part *part, struct dwarf_value *ret_value, int64_t *ret_addend,
	      struct ubp_err *err)
{
	struct sum sum = { 0 };
	int rc = address_of(part, &sum, err);

	if (rc < 0)
		return rc;
	*ret_addend = 0;
	if (sum.base == SUM_REG || sum.n > 0) {
		*ret_addend = sum.addend[sum.n];
		sum.addend[sum.n] = 0;
	}
	return put_address(&sum, ret_value, err);
}
