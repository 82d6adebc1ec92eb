/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/files/debug_sources.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/names.h"
#include "engine/symbols/symtab.h"

static int compare_symbols(const void *pa, const void *pb)
{
	const struct object_symbol *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->elf_vaddr > b->elf_vaddr) - (a->elf_vaddr < b->elf_vaddr);
}

/* A label inside a function is a place of that function. */
static bool is_inner_label(struct object *object, const struct sym *sym)
{
	const struct extent *extent;

	if (sym->kind != SYM_LABEL)
		return false;
	extent = symtab_extent_at(object, sym->elf_vaddr);
	return !extent || extent->start != sym->elf_vaddr;
}

static bool is_excluded(const struct sym *sym, const struct name *name,
			const char *const *exclude)
{
	for (; exclude && *exclude; exclude++)
		if (name_matches(sym, name, *exclude))
			return true;
	return false;
}

/* A name, and what tells one of several of that name from the others. */
struct asked {
	const struct object_wanted *wanted;
	char *name;
	const char *of; /* source file or version; NULL: of any */
	bool by_name;
	bool without_tags; /* names may have ABI tags that were not asked for */
};

/* "NAME@FILE": in C++ names there is no '@'. */
static int parse_asked(const struct object_wanted *wanted, struct asked *a)
{
	char *at;

	*a = (struct asked){ .wanted = wanted, .by_name = wanted->is_name };
	a->name = strdup(wanted->text);
	if (!a->name)
		return -ENOMEM;
	at = wanted->is_name && a->name[0] ? strrchr(a->name + 1, '@') : NULL;
	if (!at)
		return 0;
	a->of = strcmp(at + 1, "*") == 0 ? NULL : at + 1;
	if (at > a->name + 1 && at[-1] == '@')
		at--;
	*at = '\0';
	return 0;
}

static bool is_asked_for(struct object *object, const struct asked *a, const struct sym *sym,
			 const struct name *name)
{
	if (!a->by_name)
		return name_matches(sym, name, a->wanted->text);
	return name_is(sym, name, a->name, a->without_tags) &&
	       (!a->of || (sym->version && strcmp(sym->version, a->of) == 0) ||
		sym_is_of_file(object, sym, a->of));
}

static size_t collect(struct object *object, const struct symtab *symtab, const struct asked *a,
		      const struct sym **syms)
{
	const struct names *names = names_get(object);
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < symtab->n_syms; i++) {
		const struct sym *sym = &symtab->syms[i];
		const struct name *name = names ? &names->of[i] : NULL;

		if ((sym->kind == SYM_FUNCTION || sym->kind == SYM_LABEL) &&
		    strnlen(sym->name, SYM_NAME_MAX + 1) <= SYM_NAME_MAX &&
		    is_asked_for(object, a, sym, name) &&
		    !is_excluded(sym, name, a->wanted->exclude) && !is_inner_label(object, sym))
			syms[n++] = sym;
	}
	sym_sort_by_place(syms, n);
	for (size_t i = 0; i < n; i++)
		if (!kept || syms[kept - 1]->elf_vaddr != syms[i]->elf_vaddr)
			syms[kept++] = syms[i];
	return kept;
}

static int find(struct object *object, const struct asked *a, struct object_symbol **ret_v,
		size_t *ret_n)
{
	const struct symtab *symtab = symtab_of(object);
	const struct sym **syms = malloc((symtab->n_syms + 1) * sizeof(struct sym *));
	size_t n = syms ? collect(object, symtab, a, syms) : 0, kept = 0;
	struct object_symbol *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		kept += sym_describe(object, syms[i], &v[kept]) == 0;
	free(syms);
	if (!syms || !v) {
		free(v);
		return -ENOMEM;
	}
	qsort(v, kept, sizeof(*v), compare_symbols);
	*ret_v = v;
	*ret_n = kept;
	return 0;
}

/* The name may stand in another file, have tags, or be a pattern after all. */
static int find_name(struct object *object, struct asked *a, struct object_symbol **ret_v,
		     size_t *ret_n)
{
	for (;;) {
		int rc = find(object, a, ret_v, ret_n);

		if (rc < 0 || *ret_n || !a->by_name)
			return rc;
		free(*ret_v);
		*ret_v = NULL;
		if (symtab_more(object))
			continue;
		a->by_name = !a->without_tags;
		a->without_tags = true;
	}
}

int object_match_functions(struct object *object, const struct object_wanted *wanted,
			   struct object_symbol **ret_v, size_t *ret_n, struct ubp_err *err)
{
	const struct symtab *symtab;
	struct asked a;
	int rc;

	rc = wanted->is_name ? symtab_get(object, &symtab, err)
			     : symtab_get_all(object, &symtab, err);
	if (rc < 0)
		return rc;
	*ret_v = NULL;
	*ret_n = 0;
	rc = parse_asked(wanted, &a);
	if (rc == 0)
		rc = wanted->is_name ? find_name(object, &a, ret_v, ret_n)
				     : find(object, &a, ret_v, ret_n);
	free(a.name);
	return rc < 0 ? ubp_fail(err, ENOMEM, "out of memory") : 0;
}

/* --- names ------------------------------------------------------------------------- */

static int compare_by_name(const void *pa, const void *pb)
{
	const struct sym *a = *(const struct sym *const *)pa;
	const struct sym *b = *(const struct sym *const *)pb;
	unsigned rank_a = sym_rank(a), rank_b = sym_rank(b);
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	if (rank_a != rank_b)
		return rank_a > rank_b ? -1 : 1;
	return (a->elf_vaddr > b->elf_vaddr) - (a->elf_vaddr < b->elf_vaddr);
}

static bool is_listed(const struct sym *sym, const struct name *name,
		      const struct object_wanted *wanted)
{
	if ((sym->kind != SYM_FUNCTION && sym->kind != SYM_LABEL) ||
	    strnlen(sym->name, SYM_NAME_MAX + 1) > SYM_NAME_MAX)
		return false;
	return !wanted || ((!wanted->text || name_matches(sym, name, wanted->text)) &&
			   !is_excluded(sym, name, wanted->exclude));
}

int object_each_wanted(struct object *object, const struct object_wanted *wanted,
		       int (*each)(void *ctx, const struct object_symbol *symbol), void *ctx,
		       struct ubp_err *err)
{
	const struct symtab *symtab;
	const struct names *names;
	const struct sym **sorted;
	const char *last = NULL;
	size_t n = 0;
	int rc = symtab_get_all(object, &symtab, err);

	if (rc < 0)
		return rc;
	names = wanted ? names_get(object) : NULL;
	sorted = malloc((symtab->n_syms + 1) * sizeof(struct sym *));
	if (!sorted)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < symtab->n_syms; i++)
		if (is_listed(&symtab->syms[i], names ? &names->of[i] : NULL, wanted))
			sorted[n++] = &symtab->syms[i];
	qsort(sorted, n, sizeof(struct sym *), compare_by_name);
	for (size_t i = 0; i < n && rc == 0; i++) {
		struct object_symbol symbol;

		if ((last && strcmp(last, sorted[i]->name) == 0) ||
		    sym_describe(object, sorted[i], &symbol) < 0)
			continue;
		last = sorted[i]->name;
		rc = each(ctx, &symbol);
	}
	free(sorted);
	return rc;
}

bool object_has_symtab(struct object *object)
{
	const struct symtab *symtab;
	struct ubp_err ignored;

	return symtab_get(object, &symtab, &ignored) == 0 && symtab->has_symtab;
}

void object_say_stripped(struct object *object, char *text, size_t size)
{
	debug_say_sought(object, text, size);
}
