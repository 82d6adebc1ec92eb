/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a whole struct, or an array of structs or arrays, is made of: how each part is written. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/dwarf/die.h"
#include "engine/dwarf/known_types.h"
#include "engine/dwarf/unlimited.h"
#include "engine/dwarf/variables.h"
#include "engine/elf/object.h"

#define ELEMENTS_MAX 64 /* as of an array that is printed whole */

struct names {
	const char **v;
	size_t n, cap;
	int rc;
	struct ubp_err *err;
};

static void take_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	if (names->rc == 0)
		names->rc = dw_grow(&names->v, &names->cap, names->n, sizeof(*names->v),
				    names->err);
	if (names->rc == 0)
		names->v[names->n++] = name;
}

/* What a Rust tuple has is called by numbers. */
static const char *shown(const char *name)
{
	return strncmp(name, "__", 2) == 0 && name[2] >= '0' && name[2] <= '9' ? name + 2
									       : name;
}

static void all_names(struct dwarf *d, struct type *type, struct names *names)
{
	struct type_member variant;
	struct ubp_err ignored = { 0 };

	type_complete(d, type);
	if (known_each_part(d, type, take_name, names))
		return;
	if (known_member(d, type, "variant", strlen("variant"), &variant, &ignored) == 0)
		take_name(names, "variant");
	if (type->tag != DW_TAG_base_type)
		type_each_member(d, type, take_name, names);
}

/* Of a record; of one that is known to be empty there is nothing to be said. */
static int each_member(struct dwarf *d, struct type *type,
		       int (*each)(void *ctx, const char *step, const char *name), void *ctx,
		       struct ubp_err *err)
{
	struct names names = { .err = err };
	char step[256];
	int rc;

	all_names(d, type, &names);
	rc = names.rc;
	if (rc == 0 && names.n == 0 && dw_flag(&type->die, DW_AT_declaration))
		rc = -ENOTSUP;
	for (size_t i = 0; i < names.n && rc == 0; i++) {
		if ((size_t)snprintf(step, sizeof(step), ".%s", names.v[i]) < sizeof(step))
			rc = each(ctx, step, shown(names.v[i]));
	}
	free(names.v);
	return rc;
}

/* Arrays of what is printed whole are themselves. */
static int each_element(const struct part *part, unsigned addr_size,
			int (*each)(void *ctx, const char *step, const char *name), void *ctx)
{
	struct type_facts facts;
	struct type element;
	uint64_t count;
	int rc = 0;

	if (!type_element(&part->type, &element) || !type_count(&part->type, &count) ||
	    count == 0 || count > ELEMENTS_MAX)
		return -ENOTSUP;
	type_facts(&element, addr_size, &facts);
	if (facts.kind != TYPE_ARRAY && facts.kind != TYPE_RECORD && !type_pair(&element))
		return -ENOTSUP;
	for (uint64_t i = 0; i < count && rc == 0; i++) {
		char step[32], name[24];

		snprintf(step, sizeof(step), "[%" PRIu64 "]", i);
		snprintf(name, sizeof(name), "%" PRIu64, i);
		rc = each(ctx, step, name);
	}
	return rc;
}

int dw_each_part(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
		 int (*each)(void *ctx, const char *step, const char *name), void *ctx,
		 struct ubp_err *err)
{
	struct type_facts facts;
	struct part part;
	unsigned addr_size = object_is_64bit(d->object) ? 8 : 4;
	int rc = variables_find(d, place, text, len, &part, err);

	if (rc < 0)
		return rc;
	type_facts(&part.type, addr_size, &facts);
	if (part.is_address)
		return -ENOTSUP;
	if (facts.kind == TYPE_RECORD || type_pair(&part.type))
		return each_member(d, &part.type, each, ctx, err);
	return facts.kind == TYPE_ARRAY ? each_element(&part, addr_size, each, ctx) : -ENOTSUP;
}
