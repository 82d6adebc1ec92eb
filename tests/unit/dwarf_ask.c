/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/dwarf_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"

/* Places that are looked at closely, of each question. */
#define CLOSE_LOOKS 8

static void claim(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "dwarf_ask: %s\n", what);
	abort();
}

static void check_failure(int rc, const struct ubp_err *err)
{
	claim(rc <= 0, "neither 0 nor a failure");
	if (rc == 0)
		return;
	claim(rc == -err->code && err->text[0] != '\0', "a failure without a text");
}

static int ask_variable(void *ctx, const struct dwarf_variable *variable)
{
	unsigned *n = ctx;

	claim(variable->has_value || variable->why_not, "a variable without value or reason");
	return ++*n > 64;
}

static void ask_variables(struct dwarf *dwarf, const struct dwarf_place *place)
{
	static const char *const texts[] = { "req->at[1].y", "v[1]",   "*req",
					     "value:string", "letter", "requests" };
	struct ubp_err err;
	unsigned n = 0;

	ubp_err_reset(&err);
	(void)dwarf_each_variable(dwarf, place, ask_variable, &n, &err);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct dwarf_value value;
		size_t at = 0;

		ubp_err_reset(&err);
		check_failure(dwarf_value(dwarf, place, texts[i], strlen(texts[i]), NULL,
					  &value, &at, &err),
			      &err);
	}
}

static void ask_frames(struct dwarf *dwarf, uint64_t elf_vaddr)
{
	struct dwarf_frame frames[8];
	size_t n = dwarf_frames_at(dwarf, elf_vaddr, frames, 8);

	claim(n <= 8, "more frames than room");
	for (size_t i = 0; i < n; i++)
		claim(!frames[i].function || strlen(frames[i].function) < SIZE_MAX, "a name");
}

static void take_places(struct dwarf *dwarf, int rc, struct dwarf_places *places,
			const struct ubp_err *err)
{
	check_failure(rc, err);
	claim(rc == 0 ? places->n > 0 : places->n == 0 && !places->v, "places");
	for (size_t i = 0; i < places->n && i < CLOSE_LOOKS; i++) {
		struct dwarf_place place = places->v[i];

		claim(i == 0 || places->v[i - 1].elf_vaddr < place.elf_vaddr, "their order");
		claim(place.function != NULL, "a place without a name");
		ask_frames(dwarf, place.elf_vaddr);
		ask_variables(dwarf, &place);
		if (dwarf_skip_prologue(dwarf, &place))
			ask_variables(dwarf, &place);
	}
	dwarf_places_free(places);
}

static void ask_function(struct dwarf *dwarf, const char *name)
{
	static const unsigned lines[] = { 0, 2, 5, 4000000000u };
	struct dwarf_places places;
	struct dwarf_lines all;
	struct ubp_err err;
	size_t n = 0;
	int rc;

	for (int after = 0; after <= 1; after++) {
		ubp_err_reset(&err);
		rc = dwarf_function_places(dwarf, name, after, &places, &err);
		take_places(dwarf, rc, &places, &err);
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ubp_err_reset(&err);
		rc = dwarf_function_line(dwarf, name, lines[i], &places, &err);
		take_places(dwarf, rc, &places, &err);
	}
	ubp_err_reset(&err);
	rc = dwarf_lines_of(dwarf, name, &all, &err);
	check_failure(rc, &err);
	if (rc == 0)
		for (unsigned line = all.first; line <= all.last; line++)
			n += all.is_probeable[line - all.first];
	claim(rc < 0 || (all.first <= all.last && n <= all.last - all.first + 1),
	      "lines from last to first");
	dwarf_lines_free(&all);
}

static void ask_file(struct dwarf *dwarf, const char *name)
{
	for (unsigned line = 20; line < 60; line += 7) {
		struct dwarf_places places;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		rc = dwarf_file_line(dwarf, name, line, &places, &err);
		take_places(dwarf, rc, &places, &err);
	}
}

bool dwarf_ask(struct object *object)
{
	static const char *const names[] = { "main",  "twice",      "parse", "sum",
					     "xyzzy", "a::b<c>::d", "" };
	struct dwarf *dwarf = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = dwarf_open(object, &dwarf, &err);
	check_failure(rc, &err);
	if (rc < 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ask_function(dwarf, names[i]);
	ask_file(dwarf, "source.c");
	ask_frames(dwarf, object_entry(object));
	ask_frames(dwarf, UINT64_MAX);
	dwarf_free(dwarf);
	return true;
}
