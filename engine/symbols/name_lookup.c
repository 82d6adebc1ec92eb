/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by name, and what to say when there is none. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/files/debug.h"
#include "engine/files/debug_sources.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/gopclntab.h"
#include "engine/symbols/names.h"
#include "engine/symbols/symtab.h"

/* How many places of an ambiguous name are listed, and how many told apart. */
#define PLACES_MAX  4
#define ANSWERS_MAX 64

/* What was asked for: "name", "name@VERSION", "name@@VERSION", "name@FILE". */
struct wanted {
	const char *name;
	size_t len;
	const char *version; /* or file; or NULL */
	bool is_default;     /* "@@" */
};

static struct wanted parse_name(const char *text)
{
	const char *at = text[0] ? strchr(text + 1, '@') : NULL;
	struct wanted wanted = { .name = text, .len = strlen(text) };

	if (at) {
		wanted.len = (size_t)(at - text);
		wanted.is_default = at[1] == '@';
		wanted.version = at + 1 + wanted.is_default;
	}
	return wanted;
}

static bool is_function(const struct sym *sym)
{
	return sym->kind == SYM_FUNCTION || sym->kind == SYM_LABEL;
}

static bool is_wanted(const struct wanted *wanted, const struct sym *sym)
{
	if (!is_function(sym))
		return false;
	if (!wanted->version)
		return true;
	return sym->version && strcmp(sym->version, wanted->version) == 0 &&
	       (!wanted->is_default || sym->is_default);
}

/* The symbols that answer best, one per address. */
struct answers {
	const struct sym *syms[ANSWERS_MAX];
	size_t n;
	unsigned rank;
};

static void add_answer(struct answers *answers, const struct sym *sym)
{
	unsigned rank = sym_rank(sym);

	if (answers->n != 0 && rank < answers->rank)
		return;
	if (answers->n == 0 || rank > answers->rank) {
		answers->n = 0;
		answers->rank = rank;
	}
	for (size_t i = 0; i < answers->n; i++)
		if (answers->syms[i]->elf_vaddr == sym->elf_vaddr)
			return;
	if (answers->n < ANSWERS_MAX)
		answers->syms[answers->n++] = sym;
}

/* Does what stands behind '@' tell this one from the others? */
static bool is_told_apart(const struct answers *answers, const struct sym *sym)
{
	size_t n = 0;

	for (size_t i = 0; i < answers->n; i++) {
		const struct sym *other = answers->syms[i];
		const char *a = sym->version ? sym->version : sym->file;
		const char *b = sym->version ? other->version : other->file;

		n += a && b && strcmp(a, b) == 0;
	}
	return n == 1;
}

/* "dup@a.c at 0x1130", "ns::f(int) at 0x1200", or "0x1140" */
static size_t add_answer_text(struct object *object, const struct answers *answers,
			      const struct sym *sym, char *text, size_t size)
{
	char *full = demangle(sym->name), *brief = demangle_short(sym->name);
	uint64_t foffset = 0;
	int n;

	(void)object_vaddr_to_foffset(object, sym->elf_vaddr, &foffset);
	if (is_told_apart(answers, sym))
		n = snprintf(text, size, "%.64s@%.40s at 0x%" PRIx64, brief ? brief : sym->name,
			     sym->version ? sym->version : sym->file, foffset);
	else if (full)
		n = snprintf(text, size, "%.80s at 0x%" PRIx64, full, foffset);
	else
		n = snprintf(text, size, "0x%" PRIx64, foffset);
	free(full);
	free(brief);
	return n > 0 ? (size_t)n : 0;
}

static int fail_ambiguous(struct object *object, const struct wanted *wanted,
			  const struct answers *answers, bool is_overloaded,
			  struct ubp_err *err)
{
	char places[PLACES_MAX * 112];
	size_t at = 0;

	places[0] = '\0';
	for (size_t i = 0; i < answers->n && i < PLACES_MAX && at < sizeof(places); i++) {
		if (i)
			at += (size_t)snprintf(places + at, sizeof(places) - at, ", ");
		if (at < sizeof(places))
			at += add_answer_text(object, answers, answers->syms[i], places + at,
					      sizeof(places) - at);
	}
	return ubp_fail(
		err, EEXIST,
		"'%.*s' is %zu functions of %.128s: %s%s; choose one, or all by %s%.*s%s",
		(int)wanted->len, wanted->name, answers->n, object->path, places,
		answers->n > PLACES_MAX ? ", ..." : "", is_overloaded ? "cpp:" : "",
		(int)wanted->len, wanted->name, is_overloaded ? "" : "@*");
}

/* The library an import comes from: by its version, else if there is only one. */
static const char *library_of(const struct object *object, const struct sym *sym)
{
	if (sym->library)
		return sym->library;
	return object->n_needed == 1 ? object->needed[0] : NULL;
}

/* The name is there, but is no function that could be probed. */
static int fail_other_kind(const struct object *object, const struct symtab *symtab,
			   const struct wanted *wanted, struct ubp_err *err)
{
	const struct sym *first = symtab_first(symtab, wanted->name, wanted->len);
	const struct sym *import = NULL, *other_version = NULL;
	const char *library = NULL;

	for (const struct sym *sym = first; sym; sym = symtab_next(symtab, sym)) {
		if (sym->kind == SYM_IMPORT) {
			import = sym;
			library = library ? library : library_of(object, sym);
		} else if (sym->kind == SYM_DATA) {
			return ubp_fail(err, ENOENT, "'%.*s' of %s is data, not a function",
					(int)wanted->len, wanted->name, object->path);
		} else if (!other_version || sym->version) {
			other_version = sym;
		}
	}
	if (other_version)
		return ubp_fail(err, ENOENT,
				"%s has '%s'%s%.64s, but no version '%.64s' of it%s",
				object->path, other_version->name,
				other_version->version ? " of version "
				: other_version->file  ? " of file "
						       : "",
				other_version->version ? other_version->version
				: other_version->file  ? other_version->file
						       : "",
				wanted->version ? wanted->version : "",
				other_version->file ? ", nor one of such a file" : "");
	if (!import)
		return 0;
	return ubp_fail(err, ENOENT, "'%.*s' is imported, not defined in %s%s%s%s%.*s",
			(int)wanted->len, wanted->name, object->path, library ? "; try " : "",
			library ? library : "", library ? ":" : "",
			library ? (int)wanted->len : 0, wanted->name);
}

static void offer_names(struct object *object, const struct symtab *symtab,
			struct nearest *nearest)
{
	const struct names *names = names_get(object);

	for (size_t i = 0; i < symtab->n_syms; i++) {
		if (symtab->syms[i].kind != SYM_FUNCTION)
			continue;
		nearest_offer(nearest, symtab->syms[i].name);
		if (names && names->of[i].brief)
			nearest_offer(nearest, names->of[i].brief);
	}
}

static int fail_unknown(struct object *object, const struct symtab *symtab,
			const struct wanted *wanted, struct ubp_err *err)
{
	const struct names *names;
	struct nearest nearest;
	char near_text[NEAREST_TEXT_MAX], sought[384];

	debug_say_sought(object, sought, sizeof(sought));
	if (symtab->n_functions == 0)
		return ubp_fail(err, ENOENT,
				"no function '%.*s' in %.128s: it has no function symbols "
				"(stripped), and %s; or give an OFFSET",
				(int)wanted->len, wanted->name, object->path, sought);
	names = names_get(object);
	if (names && names->is_cut)
		return ubp_fail(
			err, ENOENT,
			"no function '%.*s' in %.128s, of which not all names were read: "
			"demangled they take more than %u MiB",
			(int)wanted->len, wanted->name, object->path,
			(unsigned)(names_text_max(symtab) >> 20));
	nearest_init(&nearest, wanted->name, wanted->len, NEAREST_EDITS);
	offer_names(object, symtab, &nearest);
	nearest_text(&nearest, near_text, sizeof(near_text));
	if (symtab->has_symtab)
		return ubp_fail(err, ENOENT, "no function '%.*s' in %s%s", (int)wanted->len,
				wanted->name, object->path, near_text);
	return ubp_fail(
		err, ENOENT,
		"no function '%.*s' in %.128s%s (stripped: only exported functions have "
		"names, and %s)",
		(int)wanted->len, wanted->name, object->path, near_text, sought);
}

/* What a stripped Go program still knows. */
static int find_in_go_table(struct object *object, const char *name,
			    struct object_symbol *ret_symbol)
{
	struct go_function function;
	int rc = gopclntab_find(object, name, &function);

	return rc < 0 ? rc : gopclntab_describe(object, &function, ret_symbol);
}

bool sym_is_of_file(struct object *object, const struct sym *sym, const char *file)
{
	const char *source;

	if (sym->is_global)
		return false;
	if (sym->file && strcmp(sym->file, file) == 0)
		return true;
	/* Where the whole program was compiled at once, symbol tables know no files. */
	source = object_source_at(object, sym->elf_vaddr);
	return source && strcmp(source, file) == 0;
}

static void look_up(struct object *object, const struct wanted *wanted, struct answers *answers)
{
	const struct symtab *symtab = symtab_of(object);
	const struct sym *sym;

	for (sym = symtab_first(symtab, wanted->name, wanted->len); sym;
	     sym = symtab_next(symtab, sym))
		if (is_wanted(wanted, sym))
			add_answer(answers, sym);
	if (answers->n || !wanted->version || wanted->is_default)
		return;
	for (sym = symtab_first(symtab, wanted->name, wanted->len); sym;
	     sym = symtab_next(symtab, sym))
		if (is_function(sym) && sym_is_of_file(object, sym, wanted->version))
			add_answer(answers, sym);
}

/* By the names of C++ and Rust as people write them. */
static void look_up_demangled(struct object *object, const struct wanted *wanted,
			      bool without_tags, struct answers *answers)
{
	const struct symtab *symtab = symtab_of(object);
	const struct names *names = names_get(object);
	char *name = strndup(wanted->name, wanted->len);

	for (size_t i = 0; name && names && i < symtab->n_syms; i++) {
		const struct sym *sym = &symtab->syms[i];

		if (is_function(sym) && names->of[i].full &&
		    name_is(sym, &names->of[i], name, without_tags) &&
		    (!wanted->version || sym_is_of_file(object, sym, wanted->version)))
			add_answer(answers, sym);
	}
	free(name);
}

int object_find_symbol(struct object *object, const char *name,
		       struct object_symbol *ret_symbol, struct ubp_err *err)
{
	struct wanted wanted = parse_name(name);
	struct answers answers = { 0 };
	const struct symtab *symtab;
	bool is_overloaded = false;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	look_up(object, &wanted, &answers);
	if (answers.n == 0 && find_in_go_table(object, name, ret_symbol) == 0)
		return 0;
	while (answers.n == 0) {
		look_up_demangled(object, &wanted, false, &answers);
		is_overloaded = answers.n > 1;
		if (answers.n || !symtab_more(object))
			break;
		look_up(object, &wanted, &answers);
	}
	if (answers.n == 0) {
		look_up_demangled(object, &wanted, true, &answers);
		is_overloaded = answers.n > 1;
	}
	rc = wanted.version ? object_check_sources(object, err) : 0;
	if (rc < 0)
		return rc;
	if (answers.n > 1)
		return fail_ambiguous(object, &wanted, &answers, is_overloaded, err);
	if (answers.n == 1)
		return sym_describe(object, answers.syms[0], ret_symbol);
	rc = fail_other_kind(object, symtab, &wanted, err);
	return rc < 0 ? rc : fail_unknown(object, symtab, &wanted, err);
}

int object_symbol_value(struct object *object, const char *name, uint64_t *ret_elf_vaddr)
{
	const struct sym *best = NULL;
	const struct symtab *symtab;
	struct ubp_err ignored;
	int rc;

	ubp_err_reset(&ignored);
	rc = symtab_get(object, &symtab, &ignored);
	if (rc < 0)
		return rc;
	for (const struct sym *sym = symtab_first(symtab, name, strlen(name)); sym;
	     sym = symtab_next(symtab, sym))
		if (sym->kind != SYM_IMPORT &&
		    (!best || (sym_rank(sym) & 3u) > (sym_rank(best) & 3u)))
			best = sym;
	if (!best)
		return -ENOENT;
	*ret_elf_vaddr = best->elf_vaddr;
	return 0;
}

bool object_more_symbols(struct object *object)
{
	const struct symtab *symtab;
	struct ubp_err ignored;

	return symtab_get(object, &symtab, &ignored) == 0 && symtab_more(object);
}

bool object_function_around(struct object *object, uint64_t elf_vaddr,
			    struct object_symbol *ret_symbol)
{
	uint64_t foffset;
	bool found;

	if (object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0)
		return false;
	do
		found = object_function_at(object, foffset, ret_symbol) == 0;
	while ((!found || !ret_symbol->name) && object_more_symbols(object));
	return found;
}
