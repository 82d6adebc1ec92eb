/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/stops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/code/callers.h"
#include "engine/define/probes.h"
#include "engine/define/state.h"
#include "engine/elf/segments.h"
#include "engine/space/return_way.h"

#define NAMED_MAX 5

/* Does each hit of it stop a thread, as far as the file tells? */
static bool is_stop(const struct uprobe *u)
{
	return u->window.why || !u->window.len ||
	       (u->kind == PROBE_RETURN && return_way_of(&u->facts, NULL) != RETURN_HIJACKED);
}

/* How many from @from on one definition has become, in one file. */
static size_t count_alike(const struct definitions *defs, size_t from)
{
	const struct spec_probe *first = probes_spec(defs, from);
	size_t n = 1;

	for (; from + n < defs->n_probes; n++) {
		const struct spec_probe *spec = probes_spec(defs, from + n);

		if (spec->line != first->line || strcmp(spec->command, first->command) != 0 ||
		    defs->probes[from + n]->object != defs->probes[from]->object)
			break;
	}
	return n;
}

static size_t count_stops(const struct definitions *defs, size_t from, size_t n)
{
	size_t n_stops = 0;

	for (size_t i = from; i < from + n; i++)
		n_stops += is_stop(defs->probes[i]->uprobe);
	return n_stops;
}

/* There is room for all that stop. */
static size_t collect(const struct definitions *defs, size_t from, size_t n,
		      struct called *places)
{
	size_t n_places = 0;

	for (size_t i = from; i < from + n; i++) {
		const struct defined_probe *p = defs->probes[i];
		struct called place = { .name = p->symbol };

		if (p->symbol && is_stop(p->uprobe) &&
		    object_foffset_to_vaddr(p->object, p->uprobe->foffset, &place.elf_vaddr) ==
			    0)
			places[n_places++] = place;
	}
	return n_places;
}

/* Of equal ones the first by name. */
static int compare(const void *pa, const void *pb)
{
	const struct called *a = pa, *b = pb;

	if (a->n_calls != b->n_calls)
		return a->n_calls < b->n_calls ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* What only tells that something has gone wrong is called in many places, and passed in none. */
static bool is_for_failures(const char *name)
{
	static const char *const words[] = { "fail", "abort", "fatal", "error", "panic" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* In their order: ", likely hot: a, b"; or nothing. */
static void list_hot(const struct called *places, size_t n, char *text, size_t size)
{
	const char *last = NULL;
	size_t at = 0, named = 0;

	for (size_t i = 0; i < n && places[i].n_calls && at < size; i++) {
		const char *name = places[i].name;

		if (is_for_failures(name) || (last && strcmp(last, name) == 0))
			continue;
		if (named++ == NAMED_MAX) {
			(void)snprintf(text + at, size - at, ", ...");
			return;
		}
		at += (size_t)snprintf(text + at, size - at, "%s%s",
				       last ? ", " : ", likely hot: ", name);
		last = name;
	}
}

static void name_hot(const struct definitions *defs, size_t from, size_t n, size_t n_stops,
		     char *text, size_t size)
{
	struct called *places = calloc(n_stops + 1, sizeof(*places));
	size_t n_places = places ? collect(defs, from, n, places) : 0;

	text[0] = '\0';
	if (n_places && callers_count(defs->probes[from]->object, places, n_places) == 0) {
		qsort(places, n_places, sizeof(*places), compare);
		list_hot(places, n_places, text, size);
	}
	free(places);
}

static void tell_one(const struct definitions *defs, size_t from, size_t n, size_t n_stops)
{
	const char *command = probes_spec(defs, from)->command, *why = defs->opt.no_jumps;
	char hot[512], raw[1024], text[1024], count[64];
	int len = (int)strcspn(command, " ");

	/* The long form has the place in the second word. */
	if (!memchr(command + 2, ':', (size_t)(len > 2 ? len - 2 : 0)) && command[len])
		len += 1 + (int)strcspn(command + len + 1, " ");
	name_hot(defs, from, n, n_stops, hot, sizeof(hot));
	if (n_stops == n)
		(void)snprintf(count, sizeof(count), "all %zu", n);
	else
		(void)snprintf(count, sizeof(count), "%zu of %zu", n_stops, n);
	(void)snprintf(raw, sizeof(raw), "%s places of %.*s are stops (%s)%s", count,
		       len < 200 ? len : 200, command, why ? why : "--explain tells why", hot);
	escape_line_cut(text, sizeof(text), raw);
	defs->opt.tell(defs->opt.warn_ctx, text);
}

void stops_tell(const struct definitions *defs)
{
	for (size_t i = 0, n; defs->opt.tell && i < defs->n_probes; i += n) {
		size_t n_stops;

		n = count_alike(defs, i);
		n_stops = n > 1 ? count_stops(defs, i, n) : 0;
		if (n_stops)
			tell_one(defs, i, n, n_stops);
	}
}
