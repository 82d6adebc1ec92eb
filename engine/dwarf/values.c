/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/values.h"

#include <stdlib.h>
#include <string.h>

#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"

/* More names than that are not kept. */
#define NAMES_MAX 65536

struct kept {
	struct kept *next;
	char text[];
};

struct kept_enum {
	struct kept_enum *next;
	const void *die; /* where it stands in memory */
	struct value_names names;
	struct value_name v[];
};

struct values {
	struct kept *texts;
	struct kept_enum *enums;
};

static void free_values(void *values_ptr)
{
	struct values *values = values_ptr;

	for (struct kept *k = values->texts, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	for (struct kept_enum *e = values->enums, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	free(values);
}

static const struct annex_kind values_kind = { .free = free_values };

static struct values *get(struct dwarf *d)
{
	return annex_make(&d->annexes, &values_kind, sizeof(struct values));
}

const char *values_keep(struct dwarf *d, const char *text)
{
	struct values *values = get(d);
	size_t len = strlen(text) + 1;
	struct kept *kept;

	if (!values)
		return NULL;
	for (kept = values->texts; kept; kept = kept->next)
		if (strcmp(kept->text, text) == 0)
			return kept->text;
	kept = malloc(sizeof(*kept) + len);
	if (!kept)
		return NULL;
	memcpy(kept->text, text, len);
	kept->next = values->texts;
	values->texts = kept;
	return kept->text;
}

const struct value_names *values_bool(void)
{
	static const struct value_name v[] = { { 0, "false" }, { 1, "true" } };
	static const struct value_names names = { 2, false, v };

	return &names;
}

static bool read_value(Dwarf_Die *die, unsigned attribute, struct value_name *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Word word;

	if (!dw_attr(die, attribute, &attr))
		return false;
	if (dwarf_whatform(&attr) == DW_FORM_sdata) {
		if (dwarf_formsdata(&attr, &value) != 0)
			return false;
		ret->value = value;
	} else {
		if (dwarf_formudata(&attr, &word) != 0)
			return false;
		ret->value = (int64_t)word;
	}
	return true;
}

/* An enumerator; or a variant, which is called like the member in it. One without a value is any other. */
static bool read_name(Dwarf_Die *die, struct value_name *ret)
{
	ret->name = NULL;
	if (dwarf_tag(die) == DW_TAG_enumerator && read_value(die, DW_AT_const_value, ret))
		ret->name = dw_name(die);
	if (dwarf_tag(die) != DW_TAG_variant || !read_value(die, DW_AT_discr_value, ret))
		return ret->name != NULL;
	for (struct children c = children_of(die); c.has_one && !ret->name; children_next(&c))
		if (dwarf_tag(&c.die) == DW_TAG_member)
			ret->name = dw_name(&c.die);
	return ret->name != NULL;
}

/* As gdb decides: bits of their own, and none twice. */
static bool are_flags(const struct value_names *names)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < names->n; i++) {
		uint64_t value = (uint64_t)names->v[i].value;

		if (value & (value - 1) || names->v[i].value < 0 || value & seen)
			return false;
		seen |= value;
	}
	return seen != 0;
}

static size_t count(Dwarf_Die *of, int tag)
{
	size_t n = 0;

	for (struct children c = children_of(of); c.has_one && n < NAMES_MAX; children_next(&c))
		n += dwarf_tag(&c.die) == tag;
	return n;
}

/* Of the children of @die that have @tag. */
static struct kept_enum *names_of(struct dwarf *d, Dwarf_Die *die, int tag)
{
	struct values *values = get(d);
	size_t max = count(die, tag);
	struct kept_enum *e;

	if (!values || max == 0)
		return NULL;
	for (e = values->enums; e; e = e->next)
		if (e->die == die->addr)
			return e;
	e = calloc(1, sizeof(*e) + max * sizeof(e->v[0]));
	if (!e)
		return NULL;
	e->die = die->addr;
	for (struct children c = children_of(die); c.has_one && e->names.n < max;
	     children_next(&c))
		e->names.n += read_name(&c.die, &e->v[e->names.n]);
	e->names.v = e->v;
	e->names.is_flags = tag == DW_TAG_enumerator && are_flags(&e->names);
	e->next = values->enums;
	values->enums = e;
	return e;
}

const struct value_names *values_enum(struct dwarf *d, Dwarf_Die *enumeration)
{
	struct kept_enum *e = names_of(d, enumeration, DW_TAG_enumerator);

	return e ? &e->names : NULL;
}

const struct value_names *values_variants(struct dwarf *d, Dwarf_Die *variants)
{
	struct kept_enum *e = names_of(d, variants, DW_TAG_variant);

	return e ? &e->names : NULL;
}
