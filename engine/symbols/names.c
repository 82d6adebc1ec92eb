/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/names.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/cancel.h"
#include "engine/elf/object_priv.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/symtab.h"

/* All that is demangled of a table: more than the names of sound files become. */
#define TEXT_MIN    (UINT64_C(64) << 20)
#define TEXT_MAX    (UINT64_C(1) << 30)
#define TEXT_FACTOR 4

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* "operator<", "operator()": signs that are a name. Where it ends, or @s. */
static const char *skip_operator(const char *start, const char *s)
{
	static const char word[] = "operator";

	if (strncmp(s, word, sizeof(word) - 1) != 0 || (s > start && is_word(s[-1])))
		return s;
	s += sizeof(word) - 1;
	if (is_word(*s))
		return s;
	if (strncmp(s, "()", 2) == 0)
		return s + 2;
	return s + strspn(s, "<>-=");
}

/* Behind the '>' that belongs to the '<' at @s, or NULL. */
static const char *skip_template(const char *start, const char *s)
{
	size_t depth = 0;

	while (*s) {
		const char *behind = skip_operator(start, s);

		if (behind != s) {
			s = behind;
			continue;
		}
		if (*s == '<')
			depth++;
		else if (*s == '>' && s[-1] != '-' && --depth == 0)
			return s + 1;
		s++;
	}
	return NULL;
}

/* Without "<...>" behind a name, and Rust's "::<...>". NULL: there is none, or no memory. */
static char *without_templates(const char *brief)
{
	char *bare = malloc(strlen(brief) + 1), *to = bare;
	const char *s = brief;

	while (bare && *s) {
		const char *behind = skip_operator(brief, s);

		if (behind == s && *s == '<' && s > brief && (is_word(s[-1]) || s[-1] == ':')) {
			behind = skip_template(brief, s);
			if (!behind)
				break;
			if (to - bare > 2 && to[-1] == ':' && to[-2] == ':' && is_word(to[-3]))
				to -= 2;
			s = behind;
			continue;
		}
		if (behind == s)
			behind++;
		memcpy(to, s, (size_t)(behind - s));
		to += behind - s;
		s = behind;
	}
	if (!bare || *s || to - bare == s - brief) {
		free(bare);
		return NULL;
	}
	*to = '\0';
	return bare;
}

static uint64_t len_of(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Returns how many bytes that takes. */
static uint64_t demangle_one(const struct sym *sym, struct name *name)
{
	if (sym->kind != SYM_FUNCTION && sym->kind != SYM_LABEL)
		return 0;
	if (strnlen(sym->name, SYM_NAME_MAX + 1) > SYM_NAME_MAX)
		return 0;
	name->full = demangle(sym->name);
	name->brief = name->full ? demangle_short(sym->name) : NULL;
	if (name->full && !name->brief) {
		free(name->full);
		name->full = NULL;
	}
	name->bare = name->brief ? without_templates(name->brief) : NULL;
	return len_of(name->full) + len_of(name->brief) + len_of(name->bare);
}

uint64_t names_text_max(const struct symtab *symtab)
{
	uint64_t max = TEXT_MIN + TEXT_FACTOR * symtab->names_len;

	return max < TEXT_MAX ? max : TEXT_MAX;
}

/* False: it was cancelled. */
static bool demangle_all(const struct symtab *symtab, struct names *names)
{
	uint64_t len = 0, max = names_text_max(symtab);

	for (size_t i = 0; i < names->n && !names->is_cut; i++) {
		if (cancel_in_loop(i))
			return false;
		len += demangle_one(&symtab->syms[i], &names->of[i]);
		names->is_cut = len > max;
	}
	return true;
}

static void names_free(void *names_ptr)
{
	struct names *names = names_ptr;

	for (size_t i = 0; i < names->n; i++) {
		free(names->of[i].full);
		free(names->of[i].brief);
		free(names->of[i].bare);
	}
	free(names->of);
	free(names);
}

static const struct annex_kind names_kind = { .free = names_free };

const struct names *names_get(struct object *object)
{
	const struct symtab *symtab = symtab_of(object);
	struct names *names = annex_get(&object->annexes, &names_kind);

	/* A table that grew has new symbols behind those that it had. */
	if (!symtab || (names && names->n == symtab->n_syms))
		return symtab ? names : NULL;
	names = calloc(1, sizeof(*names));
	if (names)
		names->of = calloc(symtab->n_syms + 1, sizeof(*names->of));
	if (!names || !names->of) {
		free(names);
		return NULL;
	}
	names->n = symtab->n_syms;
	if (!demangle_all(symtab, names) ||
	    annex_put(&object->annexes, &names_kind, names) < 0) {
		names_free(names);
		return NULL;
	}
	return names;
}

/* The next byte that counts: a blank does between two words only. */
static const char *next_byte(const char *start, const char *s)
{
	const char *behind = s + strspn(s, " ");

	if (behind == s || (s > start && is_word(s[-1]) && is_word(*behind)))
		return s;
	return behind;
}

/* "f[abi:cxx11]" is what people write as f. */
static const char *skip_tags(const char *s)
{
	while (strncmp(s, "[abi:", 5) == 0 && strchr(s, ']'))
		s = strchr(s, ']') + 1;
	return s;
}

static bool is_same_text(const char *a, const char *b, bool without_tags)
{
	const char *start_a = a, *start_b = b;

	for (;; a++, b++) {
		if (without_tags)
			a = skip_tags(a);
		a = next_byte(start_a, a);
		b = next_byte(start_b, b);
		if (*a != *b)
			return false;
		if (*a == '\0')
			return true;
	}
}

/* Of "RETURNED NAME(ARGS)", which templates have, what begins with the name; or NULL. */
static const char *without_return(const struct name *name)
{
	const char *s = strstr(name->full, name->brief);

	while (s && s > name->full && s[-1] != ' ')
		s = strstr(s + 1, name->brief);
	return s && s > name->full ? s : NULL;
}

bool name_is(const struct sym *sym, const struct name *name, const char *wanted,
	     bool without_tags)
{
	const char *behind;

	if (strncmp(sym->name, wanted, SYM_NAME_MAX) == 0)
		return true;
	if (!name || !name->full)
		return false;
	behind = without_return(name);
	return is_same_text(name->brief, wanted, without_tags) ||
	       is_same_text(name->full, wanted, without_tags) ||
	       (name->bare && is_same_text(name->bare, wanted, without_tags)) ||
	       (behind && is_same_text(behind, wanted, without_tags));
}

bool name_matches(const struct sym *sym, const struct name *name, const char *pattern)
{
	const char *behind;

	if (fnmatch(pattern, sym->name, 0) == 0)
		return true;
	if (!name || !name->full)
		return false;
	behind = without_return(name);
	return fnmatch(pattern, name->brief, 0) == 0 || fnmatch(pattern, name->full, 0) == 0 ||
	       (behind && fnmatch(pattern, behind, 0) == 0);
}
