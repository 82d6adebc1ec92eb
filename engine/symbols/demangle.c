/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * libiberty bounds its recursion, and takes no name of more than about a thousand bytes. But
 * what it prints is not bounded: each substitution in a name can double it.
 */
#define TEXT_MAX (64u << 10)

struct text {
	char *s;
	size_t len, room;
	jmp_buf *too_long;
};

static bool grow(struct text *text, size_t len)
{
	size_t room = text->room ? text->room : 128;
	char *bigger;

	while (room <= text->len + len)
		room *= 2;
	if (room == text->room)
		return true;
	bigger = realloc(text->s, room);
	if (!bigger)
		return false;
	text->s = bigger;
	text->room = room;
	return true;
}

/* libiberty has no other way out of it; of what it holds meanwhile little is allocated. */
static void add(const char *s, size_t len, void *ctx)
{
	struct text *text = ctx;

	if (len == 0) /* a name may be empty: then there is no @s */
		return;
	if (len > TEXT_MAX - text->len || !grow(text, len))
		longjmp(*text->too_long, 1);
	memcpy(text->s + text->len, s, len);
	text->len += len;
	text->s[text->len] = '\0';
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback,
		      void *opaque);

static char *run(demangler *of, const char *name, int options)
{
	jmp_buf too_long;
	struct text *text = calloc(1, sizeof(*text)); /* jumps leave it alone */
	char *s = NULL;

	if (!text)
		return NULL;
	text->too_long = &too_long;
	if (setjmp(too_long) == 0 && of(name, options, add, text) && text->s && text->len != 0)
		s = strdup(text->s);
	free(text->s);
	free(text);
	return s;
}

static char *demangle_as(const char *name, int options)
{
	char *s = NULL;

	/* Nothing else is mangled: libiberty would take "f.part.0" for a clone of f. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && name[1] != '_'))
		return NULL;
	/* Rust's older mangling is C++'s, with a hash. */
	s = run(rust_demangle_callback, name, options);
	return s ? s : run(cplus_demangle_v3_callback, name, options);
}

char *demangle(const char *name)
{
	return demangle_as(name, DMGL_PARAMS | DMGL_ANSI);
}

char *demangle_short(const char *name)
{
	/* Without parameters libiberty does not look at what comes behind the name. */
	char *full = demangle(name), *brief = NULL, *both = NULL;
	const char *clone = full ? strstr(full, " [clone ") : NULL;

	if (full)
		brief = demangle_as(name, DMGL_NO_OPTS);
	if (brief && clone && !strstr(brief, " [clone ")) {
		if (asprintf(&both, "%s%s", brief, clone) < 0)
			both = NULL;
		free(brief);
		brief = both;
	}
	free(full);
	return brief;
}
