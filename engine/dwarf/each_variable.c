/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* All variables that can be seen at a place. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/lookup.h"
#include "engine/dwarf/type.h"
#include "engine/dwarf/unlimited.h"
#include "engine/dwarf/values.h"

struct listing {
	struct lookup lookup;
	const char **names; /* of what was listed */
	size_t n, cap;
	int (*each)(void *ctx, const struct dwarf_variable *variable);
	void *ctx;
	struct ubp_err *err;
};

static bool is_hidden(const struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return true;
	return false;
}

static int list_variable(void *ctx, Dwarf_Die *die)
{
	struct listing *l = ctx;
	struct dwarf_variable v = { .name = dw_name(die) };
	struct location location = { 0 };
	struct ubp_err why = { 0 };
	char type[256];
	int rc;

	if (!v.name || is_hidden(l, v.name))
		return 0;
	rc = dw_grow(&l->names, &l->cap, l->n, sizeof(*l->names), l->err);
	if (rc < 0)
		return rc;
	l->names[l->n++] = v.name;
	type_name(die, type, sizeof(type));
	v.type = values_keep(l->lookup.d, type);
	v.is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	v.has_value = location_of(&l->lookup.at, die, v.name, &location, &why) == 0;
	if (!v.has_value)
		v.why_not = values_keep(l->lookup.d, why.text);
	if (!v.type || (!v.has_value && !v.why_not))
		return ubp_fail(l->err, ENOMEM, "out of memory");
	return l->each(l->ctx, &v);
}

int dw_each_variable(struct dwarf *d, const struct dwarf_place *place,
		     int (*each)(void *ctx, const struct dwarf_variable *variable), void *ctx,
		     struct ubp_err *err)
{
	struct listing l = { .each = each, .ctx = ctx, .err = err };
	int rc = lookup_init(&l.lookup, d, place, err);

	if (rc == 0)
		rc = lookup_each(&l.lookup, list_variable, &l);
	free(l.names);
	return rc;
}
