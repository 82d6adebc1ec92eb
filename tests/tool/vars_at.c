/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What variables are at an address: vars_at FILE 0xADDR [VARIABLE[:TYPE]]... writes, for each,
 * "EXPR:TYPE", or "ERRNO TEXT" at that; values with names are followed by them. Without any, it
 * lists all that are visible.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"

static int list(void *ctx, const struct dwarf_variable *v)
{
	(void)ctx;
	printf("%s\t%s\t%s\t%s\n", v->type, v->name, v->is_parameter ? "parameter" : "local",
	       v->has_value ? "" : v->why_not);
	return 0;
}

static void resolve(struct dwarf *d, const struct dwarf_place *place, const char *text)
{
	const char *colon = strchr(text, ':');
	struct dwarf_value value;
	struct ubp_err err = { 0 };
	size_t at;
	int rc;

	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	rc = dwarf_value(d, place, text, colon ? (size_t)(colon - text) : strlen(text),
			 colon ? colon + 1 : NULL, &value, &at, &err);
	if (rc < 0) {
		printf("%s %zu: %s\n", strerrorname_np(-rc), at, err.text);
		return;
	}
	printf("%s:%s", value.expr, value.type);
	for (size_t i = 0; value.names && i < value.names->n; i++)
		printf("%s%s=%" PRId64, i ? "," : "\t", value.names->v[i].name,
		       value.names->v[i].value);
	printf("%s\n", value.names && value.names->is_flags ? "\tflags" : "");
}

int main(int argc, char **argv)
{
	struct dwarf_place place = { 0 };
	struct ubp_err err = { 0 };
	struct object *object;
	struct dwarf *d;

	if (argc < 3)
		return 2;
	place.elf_vaddr = strtoull(argv[2], NULL, 0);
	if (object_open(argv[1], &object, &err) < 0 || dwarf_open(object, &d, &err) < 0 ||
	    (argc == 3 && dwarf_each_variable(d, &place, list, NULL, &err) < 0)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 3; i < argc; i++)
		resolve(d, &place, argv[i]);
	dwarf_free(d);
	object_free(object);
	return 0;
}
