/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The variables that can be seen at a place, as perf probe -V prints them. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/define/expand.h"
#include "engine/define/list.h"
#include "engine/define/list_aside.h"
#include "engine/define/target.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"

struct listing {
	struct object *object;
	struct dwarf *dwarf;
	bool explain;
	char **lines; /* of one place */
	size_t n, room;
	int (*each)(void *ctx, const char *line);
	void *ctx;
	struct ubp_err *err;
};

static void forget_lines(struct listing *l)
{
	while (l->n)
		free(l->lines[--l->n]);
}

static int print(struct listing *l, char *line)
{
	int rc = line ? l->each(l->ctx, line) : ubp_fail(l->err, ENOMEM, "out of memory");

	free(line);
	return rc;
}

__attribute__((format(printf, 1, 2))) static char *text(const char *fmt, ...)
{
	va_list args;
	char *line;

	va_start(args, fmt);
	if (vasprintf(&line, fmt, args) < 0)
		line = NULL;
	va_end(args);
	return line;
}

static int add_line(struct listing *l, char *line)
{
	if (!line || VEC_ROOM(l->lines, &l->room, l->n) < 0) {
		free(line);
		return ubp_fail(l->err, ENOMEM, "out of memory");
	}
	l->lines[l->n++] = line;
	return 0;
}

static int add_variable(void *ctx, const struct dwarf_variable *v)
{
	struct listing *l = ctx;

	if (v->has_value)
		return add_line(l, text("\t\t%s\t%s", v->type, v->name));
	return l->explain ? add_line(l, text("\t\t%s\t%s\t(%s)", v->type, v->name, v->why_not))
			  : 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "@<f+16>": of the function whose code it is, inlined into it or not. */
static char *place_text(struct listing *l, const struct dwarf_place *place)
{
	struct object_symbol symbol;
	uint64_t foffset;
	char *line, *name;

	if (object_vaddr_to_foffset(l->object, place->elf_vaddr, &foffset) < 0 ||
	    object_function_at(l->object, foffset, &symbol) < 0 || !symbol.name)
		return text("\t@<0x%" PRIx64 ">", place->elf_vaddr);
	name = demangle_short(symbol.name);
	line = text("\t@<%s+%" PRIu64 ">", name ? name : symbol.name,
		    place->elf_vaddr - symbol.elf_vaddr);
	free(name);
	return line;
}

static int list_place(struct listing *l, const struct dwarf_place *place)
{
	int rc = print(l, place_text(l, place));

	if (rc == 0)
		rc = dwarf_each_variable(l->dwarf, place, add_variable, l, l->err);
	if (rc == 0 && l->n == 0)
		rc = add_line(l, strdup("\t\t(No matched variables)"));
	qsort(l->lines, l->n, sizeof(*l->lines), compare);
	for (size_t i = 0; i < l->n && rc == 0; i++)
		rc = l->each(l->ctx, l->lines[i]);
	forget_lines(l);
	return rc;
}

/* ":LINE" at the end of @place, or NULL. */
static const char *find_line(const char *place, unsigned *ret_line)
{
	const char *colon = strrchr(place, ':');
	unsigned long line;
	char *end;

	if (!colon || colon == place || colon[-1] == ':' || colon[1] < '0' || colon[1] > '9')
		return NULL;
	line = strtoul(colon + 1, &end, 10);
	*ret_line = line > INT32_MAX ? INT32_MAX : (unsigned)line;
	return *end ? NULL : colon;
}

/* FUNCTION, FUNCTION:LINE, or FILE:LINE. */
static int find_places(struct listing *l, const char *place, struct dwarf_places *ret_places)
{
	unsigned line = 0;
	const char *colon = find_line(place, &line);
	char *name;
	int rc;

	if (!colon)
		return dwarf_function_places(l->dwarf, place, true, ret_places, l->err);
	name = strndup(place, (size_t)(colon - place));
	if (!name)
		return ubp_fail(l->err, ENOMEM, "out of memory");
	if (expand_is_file_name((struct spec_span){ name, strlen(name) }))
		rc = dwarf_file_line(l->dwarf, name, line, ret_places, l->err);
	else
		rc = dwarf_function_line(l->dwarf, name, line, ret_places, l->err);
	free(name);
	return rc;
}

static int list_places(struct listing *l, const char *place)
{
	struct dwarf_places places = { 0 };
	int rc = find_places(l, place, &places);

	if (rc < 0)
		return rc;
	rc = print(l, text("Available variables at %s", place));
	for (size_t i = 0; i < places.n && rc == 0; i++)
		rc = list_place(l, &places.v[i]);
	dwarf_places_free(&places);
	free(l->lines);
	return rc;
}

static int list(const struct define_target *target, const char *place, list_each *each,
		void *ctx, struct ubp_err *err)
{
	struct listing l = { .explain = target->explain, .each = each, .ctx = ctx, .err = err };
	int rc;

	rc = target_open_dwarf(target, &l.object, &l.dwarf, err);
	if (rc == 0)
		rc = list_places(&l, place);
	dwarf_free(l.dwarf);
	object_free(l.object);
	return rc;
}

int define_list_variables(const struct define_target *target, const char *place,
			  int (*each)(void *ctx, const char *line), void *ctx,
			  struct ubp_err *err)
{
	ubp_err_reset(err);
	return list_aside(list, target, place, each, ctx, err);
}
