/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A variable, or a part of one, as a fetch arg: as its type says, or as the user wants it. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/dwarf/die.h"
#include "engine/dwarf/known_types.h"
#include "engine/dwarf/unlimited.h"
#include "engine/dwarf/values.h"
#include "engine/dwarf/walk.h"

static void name_values(struct walk *w, const struct type *type, const struct type_facts *facts,
			struct dwarf_value *value)
{
	Dwarf_Die die = type->die;

	if (!facts->has_names)
		return;
	if (type->has_variants) {
		die = type->variants;
		value->names = values_variants(w->lookup.d, &die);
	} else if (type->tag == DW_TAG_enumeration_type) {
		value->names = values_enum(w->lookup.d, &die);
	} else {
		value->names = values_bool();
	}
}

static int whole_array(struct walk *w, struct dwarf_value *value)
{
	struct type_facts facts;
	struct type element;
	uint64_t count;
	char type[DWARF_TYPE_MAX];

	if (!type_element(&w->part.type, &element))
		return walk_not_that(w,
				     "is an array of what the debug information does not tell");
	type_facts(&element, w->lookup.at.addr_size, &facts);
	if (facts.kind == TYPE_CHAR)
		return part_memory(&w->part, "string", value, w->err);
	if (facts.kind == TYPE_ARRAY)
		return walk_not_that(w, "is an array of arrays: choose one by [N]");
	if (facts.is_x87)
		return walk_not_that(w, "is an array of long doubles: choose one by [N]");
	if (facts.kind != TYPE_NUMBER && facts.kind != TYPE_FLOAT && facts.kind != TYPE_POINTER)
		return walk_not_that(w, "is an array of no single values: choose one by [N]");
	if (!type_count(&w->part.type, &count) || count == 0)
		return walk_not_that(
			w, "is an array of unknown length: choose an element by [N], or "
			   "give a type with a length, as :u32[4]");
	if (count > 64)
		return ubp_fail(
			w->err, ENOTSUP,
			"%.*s has %" PRIu64
			" elements, and 64 can be printed: choose one by [N], or some by a "
			"type, as :%s[64]",
			(int)w->done, w->text, count, facts.spelling);
	name_values(w, &element, &facts, value);
	snprintf(type, sizeof(type), "%s[%" PRIu64 "]", facts.spelling, count);
	return part_memory(&w->part, type, value, w->err);
}

static bool is_text(const struct walk *w, const struct type *element)
{
	struct type_facts facts;

	type_facts(element, w->lookup.at.addr_size, &facts);
	return facts.kind == TYPE_CHAR || (facts.kind == TYPE_NUMBER && facts.size == 1);
}

static bool is_text_array(struct walk *w)
{
	struct type element;

	return walk_kind(w) == TYPE_ARRAY && type_element(&w->part.type, &element) &&
	       is_text(w, &element);
}

/* From a std::array to the array in it. What has its elements elsewhere is no array. */
static void enter_array(struct walk *w)
{
	struct part whole = w->part;
	struct type ignored;

	walk_elements(w, &ignored);
	if (walk_kind(w) != TYPE_ARRAY)
		w->part = whole;
}

/* What a pointer points to, a std::string or a pointer to one, an array of characters. */
static int as_string(struct walk *w, const char *type, struct dwarf_value *value)
{
	int rc = walk_rust_references(w);
	bool is_pointed = walk_kind(w) == TYPE_POINTER;

	if (rc == 0 && is_pointed)
		rc = walk_follow(w);
	if (rc < 0)
		return rc;
	value->is_counted = known_is_counted_text(w->lookup.d, &w->part.type);
	if (value->is_counted)
		return walk_not_that(w, "has no NUL at its end, where a string would stop: "
					"take its data and its length");
	if (walk_into(w, known_text)) {
		rc = walk_follow(w);
		is_pointed = true;
	}
	enter_array(w);
	if (rc == 0 && !is_pointed && walk_kind(w) == TYPE_RECORD)
		return walk_whole_record(w);
	if (rc == 0 && !is_pointed && !is_text_array(w))
		return walk_not_that(w, "is no string, nor does it point to one");
	return rc < 0 ? rc : part_memory(&w->part, type, value, w->err);
}

/* A std::string is its text, a std::array what is in it. */
static int by_what_it_holds(struct walk *w, struct dwarf_value *value)
{
	if (walk_into(w, known_text))
		return as_string(w, "string", value);
	enter_array(w);
	return walk_kind(w) == TYPE_ARRAY ? whole_array(w, value) : walk_whole_record(w);
}

/* As its type says. */
static int by_itself(struct walk *w, struct dwarf_value *value)
{
	struct type_facts facts;
	char why[96];
	int rc;

	if (w->part.is_address)
		return part_address(&w->part, value, w->err);
	rc = walk_follow_references(w);
	if (rc < 0)
		return rc;
	type_facts(&w->part.type, w->lookup.at.addr_size, &facts);
	switch (facts.kind) {
	case TYPE_RECORD:
		return by_what_it_holds(w, value);
	case TYPE_ARRAY:
		return whole_array(w, value);
	case TYPE_VOID:
		return walk_not_that(w, "has no type: give one, as :x64");
	case TYPE_OTHER:
		if (type_pair(&w->part.type))
			return walk_whole_record(w);
		snprintf(why, sizeof(why), "is %s, which no fetch arg can print", facts.why);
		return walk_not_that(w, why);
	default:
		name_values(w, &w->part.type, &facts, value);
		return part_scalar(&w->part, &facts, value, w->err);
	}
}

static bool is_string(const char *type)
{
	return strcmp(type, "string") == 0 || strcmp(type, "ustring") == 0;
}

/* As the user wants it. */
static int as_told(struct walk *w, const char *type, struct dwarf_value *value)
{
	bool is_array = strchr(type, '[') != NULL;
	struct type_facts facts;
	struct type element;
	int rc;

	if (strlen(type) >= DWARF_TYPE_MAX)
		return ubp_fail(w->err, ENOTSUP, "the type is too long");
	if (w->part.is_address && !is_string(type) && !is_array)
		return part_address(&w->part, value, w->err);
	w->part.is_address = false;
	rc = walk_follow_references(w);
	if (rc < 0)
		return rc;
	if (is_string(type))
		return as_string(w, type, value);
	if (is_array) { /* of what a pointer points to */
		rc = walk_rust_references(w);
		if (rc < 0)
			return rc;
		walk_elements(w, &element);
		if (walk_kind(w) == TYPE_POINTER)
			rc = walk_follow(w);
		return rc < 0 ? rc : part_memory(&w->part, type, value, w->err);
	}
	type_facts(&w->part.type, w->lookup.at.addr_size, &facts);
	return part_typed(&w->part, facts.size, type, value, w->err);
}

static int as_pointer(struct walk *w, struct dwarf_value *value, int64_t *ret_addend)
{
	struct type_facts facts;
	int rc = 0;

	if (!w->part.is_address)
		rc = walk_follow_references(w);
	if (rc < 0)
		return rc;
	if (w->part.is_address || walk_kind(w) == TYPE_ARRAY)
		return part_base(&w->part, value, ret_addend, w->err);
	if (walk_kind(w) != TYPE_POINTER)
		return ubp_fail(w->err, EINVAL, "%.*s is no pointer", (int)w->done, w->text);
	type_facts(&w->part.type, w->lookup.at.addr_size, &facts);
	return part_scalar(&w->part, &facts, value, w->err);
}

int dw_value(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
	     const char *type, struct dwarf_value *ret_value, size_t *ret_at,
	     struct ubp_err *err)
{
	struct walk w = { .text = text, .err = err };
	int rc = walk_find(&w, d, place, len, ret_at);

	if (rc < 0)
		return rc;
	*ret_value = (struct dwarf_value){ .names = NULL };
	return type ? as_told(&w, type, ret_value) : by_itself(&w, ret_value);
}

int dw_pointer(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
	       struct dwarf_value *ret_value, int64_t *ret_addend, size_t *ret_at,
	       struct ubp_err *err)
{
	struct walk w = { .text = text, .err = err };
	int rc = walk_find(&w, d, place, len, ret_at);

	if (rc < 0)
		return rc;
	*ret_addend = 0;
	*ret_value = (struct dwarf_value){ .names = NULL };
	return as_pointer(&w, ret_value, ret_addend);
}
