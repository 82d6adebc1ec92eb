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

static bool read_enumerator(Dwarf_Die *die, struct value_name *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value;
	Dwarf_Word word;

	if (dwarf_tag(die) != DW_TAG_enumerator || !dw_attr(die, DW_AT_const_value, &attr))
		return false;
	ret->name = dw_name(die);
	if (dwarf_whatform(&attr) == DW_FORM_sdata) {
		if (dwarf_formsdata(&attr, &value) != 0)
			return false;
		ret->value = value;
	} else {
		if (dwarf_formudata(&attr, &word) != 0)
			return false;
		ret->value = (int64_t)word;
	}
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

static size_t count(Dwarf_Die *enumeration)
{
	size_t n = 0;

	for (struct children c = children_of(enumeration); c.has_one && n < NAMES_MAX;
	     children_next(&c))
		n += dwarf_tag(&c.die) == DW_TAG_enumerator;
	return n;
}

const struct value_names *values_enum(struct dwarf *d, Dwarf_Die *enumeration)
{
	struct values *values = get(d);
	size_t max = count(enumeration);
	struct kept_enum *e;

	if (!values || max == 0)
		return NULL;
	for (e = values->enums; e; e = e->next)
		if (e->die == enumeration->addr)
			return &e->names;
	e = calloc(1, sizeof(*e) + max * sizeof(e->v[0]));
	if (!e)
		return NULL;
	e->die = enumeration->addr;
	for (struct children c = children_of(enumeration); c.has_one && e->names.n < max;
	     children_next(&c))
		e->names.n += read_enumerator(&c.die, &e->v[e->names.n]);
	e->names.v = e->v;
	e->names.is_flags = are_flags(&e->names);
	e->next = values->enums;
	values->enums = e;
	return &e->names;
}
