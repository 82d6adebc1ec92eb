/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Members of structures: found by name, also in those without a name and in base classes,
 * and listed.
 */

#include <errno.h>
#include <string.h>

#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/type.h"

/* Records in records that are looked into, and members looked at in all. */
#define NEST_MAX    16
#define MEMBERS_MAX 200000

struct search {
	struct dwarf *d;
	const char *name; /* NULL: all, to .each() */
	size_t len;
	struct type_member *found;
	void (*each)(void *ctx, const char *name);
	void *ctx;
	unsigned left;
	struct ubp_err *err;
};

static int in_record(struct search *s, Dwarf_Die *record, uint64_t bit_at, unsigned depth);

/* Where a member or base stands, in bits. */
static int offset_of(struct search *s, Dwarf_Die *member, uint64_t *ret_bits)
{
	Dwarf_Attribute attr;
	Dwarf_Word bytes = 0;
	Dwarf_Op *ops;
	size_t n;

	*ret_bits = 0;
	if (!dw_attr(member, DW_AT_data_member_location, &attr))
		return 0; /* of a union; or told by DW_AT_data_bit_offset */
	if (dwarf_formudata(&attr, &bytes) != 0) {
		if (dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1 ||
		    (ops[0].atom != DW_OP_plus_uconst && ops[0].atom != DW_OP_constu))
			return ubp_fail(
				s->err, ENOTSUP,
				"it is in a virtual base class, whose place is known at "
				"run time only");
		bytes = ops[0].number;
	}
	if (bytes > INT32_MAX)
		return ubp_fail(s->err, ENOEXEC, "corrupt debug information: a member at %llu",
				(unsigned long long)bytes);
	*ret_bits = bytes * 8;
	return 0;
}

/* Either from the record's start, or, in the old way, from the top of a storage unit. */
static int bit_field(struct search *s, Dwarf_Die *die, struct type_member *m)
{
	Dwarf_Word size = 0, at = 0, top = 0, storage = 0;
	uint64_t bytes;

	if (!dw_number(die, DW_AT_bit_size, &size))
		return 0;
	if (dw_number(die, DW_AT_data_bit_offset, &at)) {
		m->bit_at += at;
	} else if (dw_number(die, DW_AT_bit_offset, &top)) {
		if (!dw_number(die, DW_AT_byte_size, &storage)) {
			if (!type_size(&m->type, 8, &bytes))
				bytes = 0;
			storage = bytes;
		}
		if (storage > 16 || (Dwarf_Sword)top < -64 || (Dwarf_Sword)top > 128)
			return ubp_fail(s->err, ENOEXEC,
					"corrupt debug information: a bit-field");
		m->bit_at += storage * 8 - top - size;
	}
	if (size == 0 || size > 128 || m->bit_at > (uint64_t)INT32_MAX * 16)
		return ubp_fail(s->err, ENOEXEC, "corrupt debug information: a bit-field");
	m->bit_size = (unsigned)size;
	return 0;
}

static bool is_static(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_variable || dw_flag(die, DW_AT_external) ||
	       dw_flag(die, DW_AT_declaration);
}

static int found(struct search *s, Dwarf_Die *die, uint64_t bit_at)
{
	struct type_member *m = s->found;
	int rc;

	*m = (struct type_member){ .die = *die, .is_static = is_static(die) };
	if (!type_of(die, &m->type))
		return ubp_fail(s->err, ENOEXEC,
				"corrupt debug information: types in a circle");
	if (m->is_static)
		return 0;
	rc = offset_of(s, die, &m->bit_at);
	if (rc < 0)
		return rc;
	m->bit_at += bit_at;
	return bit_field(s, die, m);
}

/* "x.0" is what Rust's compiler calls __0. */
static bool is_called(const struct search *s, const char *name)
{
	if (s->len && s->name[0] >= '0' && s->name[0] <= '9' && strncmp(name, "__", 2) == 0)
		name += 2;
	return strlen(name) == s->len && memcmp(name, s->name, s->len) == 0;
}

/* A record without a name in the record, or a base. */
static int in_part(struct search *s, Dwarf_Die *die, uint64_t bit_at, unsigned depth)
{
	uint64_t at;
	struct type type;
	int rc, at_rc;

	if (!type_of(die, &type) || !type.tag)
		return -ENOENT;
	type_complete(s->d, &type);
	at_rc = offset_of(s, die, &at);
	rc = in_record(s, &type.die, bit_at + (at_rc < 0 ? 0 : at), depth + 1);
	/* Where it is matters only if the member is in there. */
	return rc == 0 ? at_rc : rc;
}

static int in_member(struct search *s, Dwarf_Die *die, uint64_t bit_at, unsigned depth)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_member:
	case DW_TAG_variable:
		name = dw_name(die);
		if (!name)
			return in_part(s, die, bit_at, depth);
		if (!s->name && !dw_flag(die, DW_AT_artificial))
			s->each(s->ctx, name);
		return s->name && is_called(s, name) ? found(s, die, bit_at) : -ENOENT;
	case DW_TAG_variant_part:
	case DW_TAG_variant:
		return in_record(s, die, bit_at, depth + 1);
	default:
		return -ENOENT;
	}
}

static int in_record(struct search *s, Dwarf_Die *record, uint64_t bit_at, unsigned depth)
{
	int rc = -ENOENT;

	if (depth > NEST_MAX)
		return -ENOENT;
	for (struct children c = children_of(record); c.has_one && rc == -ENOENT && s->left;
	     children_next(&c)) {
		s->left--;
		rc = in_member(s, &c.die, bit_at, depth);
	}
	/* Members of the class itself come first. */
	for (struct children c = children_of(record); c.has_one && rc == -ENOENT && s->left;
	     children_next(&c)) {
		s->left--;
		if (dwarf_tag(&c.die) == DW_TAG_inheritance)
			rc = in_part(s, &c.die, bit_at, depth);
	}
	return rc;
}

int type_member_of(struct dwarf *d, Dwarf_Die *die, uint64_t bit_at,
		   struct type_member *ret_member, struct ubp_err *err)
{
	struct search s = { .d = d, .found = ret_member, .err = err };

	return found(&s, die, bit_at);
}

int type_find_member(struct dwarf *d, const struct type *type, const char *name, size_t len,
		     struct type_member *ret_member, struct ubp_err *err)
{
	struct search s = { .d = d,
			    .name = name,
			    .len = len,
			    .found = ret_member,
			    .left = MEMBERS_MAX,
			    .err = err };
	Dwarf_Die die = type->die;

	return in_record(&s, &die, 0, 0);
}

void type_each_member(struct dwarf *d, const struct type *type,
		      void (*each)(void *ctx, const char *name), void *ctx)
{
	struct ubp_err err = { 0 };
	struct search s = {
		.d = d, .each = each, .ctx = ctx, .left = MEMBERS_MAX, .err = &err
	};
	Dwarf_Die die = type->die;

	in_record(&s, &die, 0, 0);
}
