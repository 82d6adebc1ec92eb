/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/known_types.h"

#include <errno.h>
#include <string.h>

#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"

#define PARTS_MAX 3
/* Records in records on the way to a pointer. */
#define NEST_MAX 12
/* DIEs that are looked at on that way. */
#define LOOKS_MAX 10000

enum known_kind {
	KNOWN_PLAIN,
	KNOWN_TEXT,         /* ends by a NUL */
	KNOWN_COUNTED_TEXT, /* does not */
	KNOWN_ELEMENTS,
	KNOWN_POINTER,
};

/* A path: members, one in the other; "*" is the first pointer in there. */
struct known_part {
	const char *name, *path;
};

/* Where the types of a table are from: others may call theirs the same. */
enum known_from {
	FROM_STD, /* C++: namespace std */
	FROM_RUST,
	FROM_GO,
};

struct known {
	const char *name; /* its type's, or what that begins with, if it ends with '<' or '[' */
	enum known_from from;
	enum known_kind kind;
	const char *data; /* the way to its text, elements, or pointer */
	struct known_part parts[PARTS_MAX];
};

static const struct known types[] = {
	/* libstdc++ */
	{ "basic_string<char,",
	  FROM_STD,
	  KNOWN_TEXT,
	  "_M_dataplus._M_p",
	  { { "size", "_M_string_length" }, { "data", "_M_dataplus._M_p" } } },
	{ "basic_string_view<char,",
	  FROM_STD,
	  KNOWN_COUNTED_TEXT,
	  "_M_str",
	  { { "size", "_M_len" }, { "data", "_M_str" } } },
	{ "vector<bool,", FROM_STD, KNOWN_PLAIN, NULL, { { NULL, NULL } } },
	{ "vector<",
	  FROM_STD,
	  KNOWN_ELEMENTS,
	  "_M_impl._M_start",
	  { { "data", "_M_impl._M_start" }, { "end", "_M_impl._M_finish" } } },
	{ "array<", FROM_STD, KNOWN_ELEMENTS, "_M_elems", { { NULL, NULL } } },
	{ "span<", FROM_STD, KNOWN_ELEMENTS, "_M_ptr", { { NULL, NULL } } },
	{ "optional<",
	  FROM_STD,
	  KNOWN_PLAIN,
	  NULL,
	  { { "has_value", "_M_payload._M_engaged" },
	    { "value", "_M_payload._M_payload._M_value" } } },
	{ "unique_ptr<", FROM_STD, KNOWN_POINTER, "_M_t.*", { { "get", "_M_t.*" } } },
	{ "shared_ptr<", FROM_STD, KNOWN_POINTER, "_M_ptr", { { "get", "_M_ptr" } } },
	/* Rust; what is in a Vec has changed over the years. */
	{ "&str",
	  FROM_RUST,
	  KNOWN_COUNTED_TEXT,
	  "data_ptr",
	  { { "len", "length" }, { "data", "data_ptr" } } },
	{ "&mut str",
	  FROM_RUST,
	  KNOWN_COUNTED_TEXT,
	  "data_ptr",
	  { { "len", "length" }, { "data", "data_ptr" } } },
	{ "String",
	  FROM_RUST,
	  KNOWN_COUNTED_TEXT,
	  "vec.buf.*",
	  { { "len", "vec.len" }, { "data", "vec.buf.*" } } },
	{ "Vec<",
	  FROM_RUST,
	  KNOWN_ELEMENTS,
	  "buf.*",
	  { { "len", "len" }, { "data", "buf.*" } } },
	{ "&[",
	  FROM_RUST,
	  KNOWN_ELEMENTS,
	  "data_ptr",
	  { { "len", "length" }, { "data", "data_ptr" } } },
	{ "&mut [",
	  FROM_RUST,
	  KNOWN_ELEMENTS,
	  "data_ptr",
	  { { "len", "length" }, { "data", "data_ptr" } } },
	/* Go */
	{ "string",
	  FROM_GO,
	  KNOWN_COUNTED_TEXT,
	  "str",
	  { { "len", "len" }, { "data", "str" } } },
	{ "[]", FROM_GO, KNOWN_ELEMENTS, "array", { { "len", "len" }, { "data", "array" } } },
};

/* Of numbers that no fetch arg holds as one. */
static const char *const halves[][2] = { { "low", "high" }, { "real", "imag" } };

static bool is_record(const struct type *type)
{
	return type->tag == DW_TAG_structure_type || type->tag == DW_TAG_class_type;
}

/* What is @die, or what it is in, of what is in @scope: DIEs stand behind their parents. */
static bool go_down(Dwarf_Die *scope, const Dwarf_Die *die, Dwarf_Die *ret_die)
{
	bool has_one = false;

	for (struct children c = children_of(scope); c.has_one && c.die.addr <= die->addr;
	     children_next(&c)) {
		*ret_die = c.die;
		has_one = true;
	}
	return has_one;
}

/* Is it in namespace std, or in one of those in there that nobody writes, as std::__cxx11? */
static bool is_in_std(Dwarf_Die *unit, const Dwarf_Die *die)
{
	Dwarf_Die scope = *unit, inner;

	for (unsigned depth = 0; depth < NEST_MAX && go_down(&scope, die, &inner); depth++) {
		const char *name = dw_name(&inner);

		if (inner.addr == die->addr)
			return depth > 0;
		if (dwarf_tag(&inner) != DW_TAG_namespace || !name ||
		    (depth ? strncmp(name, "__", 2) : strcmp(name, "std")) != 0)
			return false;
		scope = inner;
	}
	return false;
}

static bool is_from(const struct type *type, enum known_from from)
{
	Dwarf_Die die = type->die, declared, unit;

	if (dw_ref(&die, DW_AT_specification, &declared))
		die = declared;
	if (!dwarf_diecu(&die, &unit, NULL, NULL))
		return false;
	switch (from) {
	case FROM_STD:
		return is_in_std(&unit, &die);
	case FROM_RUST:
		return dwarf_srclang(&unit) == DW_LANG_Rust;
	default:
		return dwarf_srclang(&unit) == DW_LANG_Go;
	}
}

static const struct known *find(const struct type *type)
{
	Dwarf_Die die = type->die;
	const char *name = is_record(type) ? dw_name(&die) : NULL;

	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++) {
		size_t len = strlen(types[i].name);

		/* What ends in a letter is the whole name. */
		if (strncmp(name, types[i].name, len) == 0 &&
		    (!name[len] || strchr("<[],", types[i].name[len - 1])))
			return is_from(type, types[i].from) ? &types[i] : NULL;
	}
	return NULL;
}

/* --- the way inside ------------------------------------------------------------------ */

struct pointer_search {
	struct dwarf *d;
	struct ubp_err *err;
	unsigned left;
};

/* The first pointer in a record, however deep; bases come behind members. */
static int first_pointer(struct pointer_search *s, const struct type *record, uint64_t bit_at,
			 unsigned depth, struct type_member *ret_member)
{
	Dwarf_Die die = record->die;

	if (record->tag == DW_TAG_pointer_type) {
		*ret_member = (struct type_member){ .type = *record, .bit_at = bit_at };
		return 0;
	}
	if (!is_record(record) || depth > NEST_MAX)
		return -ENOENT;
	for (struct children c = children_of(&die); c.has_one && s->left; children_next(&c)) {
		int tag = dwarf_tag(&c.die);
		struct type_member inner;

		s->left--;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dw_flag(&c.die, DW_AT_external) || dw_flag(&c.die, DW_AT_declaration) ||
		    type_member_of(s->d, &c.die, bit_at, &inner, s->err) != 0)
			continue;
		if (first_pointer(s, &inner.type, inner.bit_at, depth + 1, ret_member) == 0)
			return 0;
	}
	return -ENOENT;
}

static int go(struct dwarf *d, const struct type *type, const char *path,
	      struct type_member *ret_member, struct ubp_err *err)
{
	struct pointer_search search = { d, err, LOOKS_MAX };
	struct type_member at = { .type = *type };
	int rc = 0;

	while (rc == 0 && *path) {
		size_t len = strcspn(path, ".");
		uint64_t bit_at = at.bit_at;

		type_complete(d, &at.type);
		if (*path == '*') {
			rc = first_pointer(&search, &at.type, bit_at, 0, &at);
		} else {
			struct type of = at.type;

			rc = is_record(&of) || of.tag == DW_TAG_union_type
				     ? type_find_member(d, &of, path, len, &at, err)
				     : -ENOENT;
			at.bit_at += bit_at;
		}
		if (rc == 0 && at.is_static)
			rc = -ENOENT;
		path += len + (path[len] == '.');
	}
	*ret_member = at;
	return rc;
}

/* Is all in it where the table has it? Else it is of another library, or another version. */
static bool has_all(struct dwarf *d, const struct type *type, const struct known *known)
{
	struct type_member ignored;
	struct ubp_err err = { 0 };
	bool ok = !known->data || go(d, type, known->data, &ignored, &err) == 0;

	for (unsigned i = 0; ok && i < PARTS_MAX && known->parts[i].name; i++)
		ok = go(d, type, known->parts[i].path, &ignored, &err) == 0;
	return ok;
}

/* --- Rust's enums -------------------------------------------------------------------- */

static bool variants_of(const struct type *type, Dwarf_Die *ret_die)
{
	Dwarf_Die die = type->die;

	if (!is_record(type))
		return false;
	for (struct children c = children_of(&die); c.has_one; children_next(&c)) {
		*ret_die = c.die;
		if (dwarf_tag(&c.die) == DW_TAG_variant_part)
			return dwarf_hasattr(&c.die, DW_AT_discr);
	}
	return false;
}

static int variant(struct dwarf *d, const struct type *type, struct type_member *ret_member,
		   struct ubp_err *err)
{
	Dwarf_Die variants, which;
	int rc;

	if (!variants_of(type, &variants) || !dw_ref(&variants, DW_AT_discr, &which))
		return -ENOENT;
	rc = type_member_of(d, &which, 0, ret_member, err);
	ret_member->type.variants = variants;
	ret_member->type.has_variants = true;
	return rc;
}

/* --- all ----------------------------------------------------------------------------- */

static bool is_called(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static int half(const struct type *type, const char *name, size_t len,
		struct type_member *ret_member)
{
	enum type_pair pair = type_pair(type);
	uint64_t size;

	for (unsigned i = 0; pair && i < 2; i++) {
		if (!is_called(halves[pair - 1][i], name, len) || !type_size(type, 8, &size))
			continue;
		*ret_member = (struct type_member){ .type = *type, .bit_at = i * size * 4 };
		ret_member->type.half = (uint8_t)(i + 1);
		return 0;
	}
	return -ENOENT;
}

int known_member(struct dwarf *d, const struct type *type, const char *name, size_t len,
		 struct type_member *ret_member, struct ubp_err *err)
{
	const struct known *known = find(type);

	for (unsigned i = 0; known && i < PARTS_MAX; i++)
		if (is_called(known->parts[i].name, name, len))
			return go(d, type, known->parts[i].path, ret_member, err);
	if (is_called("variant", name, len))
		return variant(d, type, ret_member, err);
	return half(type, name, len, ret_member);
}

bool known_each_part(struct dwarf *d, const struct type *type,
		     void (*each)(void *ctx, const char *name), void *ctx)
{
	const struct known *known = find(type);
	enum type_pair pair = type_pair(type);
	unsigned n = 0;

	if (known && !has_all(d, type, known))
		known = NULL;
	for (unsigned i = 0; known && i < PARTS_MAX && known->parts[i].name; i++, n++)
		each(ctx, known->parts[i].name);
	for (unsigned i = 0; pair && i < 2; i++, n++)
		each(ctx, halves[pair - 1][i]);
	return n > 0;
}

int known_elements(struct dwarf *d, const struct type *type, struct type_member *ret_member,
		   struct type *ret_element, struct ubp_err *err)
{
	const struct known *known = find(type);
	Dwarf_Die die = type->die;

	*ret_element = (struct type){ .tag = -1 };
	if (!known || !known->data || known->kind == KNOWN_POINTER)
		return -ENOENT;
	for (struct children c = children_of(&die);
	     c.has_one && strcmp(known->name, "Vec<") == 0 && ret_element->tag == -1;
	     children_next(&c))
		if (dwarf_tag(&c.die) == DW_TAG_template_type_parameter &&
		    !type_of(&c.die, ret_element))
			return -ENOENT;
	return go(d, type, known->data, ret_member, err);
}

static int data_of(struct dwarf *d, const struct type *type, enum known_kind kind,
		   struct type_member *ret_member, struct ubp_err *err)
{
	const struct known *known = find(type);

	return known && known->kind == kind ? go(d, type, known->data, ret_member, err)
					    : -ENOENT;
}

int known_pointer(struct dwarf *d, const struct type *type, struct type_member *ret_member,
		  struct ubp_err *err)
{
	return data_of(d, type, KNOWN_POINTER, ret_member, err);
}

int known_text(struct dwarf *d, const struct type *type, struct type_member *ret_member,
	       struct ubp_err *err)
{
	return data_of(d, type, KNOWN_TEXT, ret_member, err);
}

bool known_is_counted_text(struct dwarf *d, const struct type *type)
{
	const struct known *known = find(type);

	return known && known->kind == KNOWN_COUNTED_TEXT && has_all(d, type, known);
}
