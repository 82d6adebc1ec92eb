/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by a pattern of their names. */

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/object_priv.h"
#include "engine/object/symtab.h"

static int compare_places(const void *pa, const void *pb)
{
	const struct sym *a = *(const struct sym *const *)pa;
	const struct sym *b = *(const struct sym *const *)pb;

	if (a->elf_vaddr != b->elf_vaddr)
		return a->elf_vaddr < b->elf_vaddr ? -1 : 1;
	return sym_compare_names(a, b);
}

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

static size_t collect(struct object *object, const struct symtab *symtab, const char *pattern,
		      const struct sym **syms)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < symtab->n_syms; i++) {
		const struct sym *sym = &symtab->syms[i];

		if ((sym->kind == SYM_FUNCTION || sym->kind == SYM_LABEL) &&
		    strnlen(sym->name, SYM_NAME_MAX + 1) <= SYM_NAME_MAX &&
		    fnmatch(pattern, sym->name, 0) == 0 && !is_inner_label(object, sym))
			syms[n++] = sym;
	}
	qsort(syms, n, sizeof(struct sym *), compare_places);
	for (size_t i = 0; i < n; i++)
		if (!kept || syms[kept - 1]->elf_vaddr != syms[i]->elf_vaddr)
			syms[kept++] = syms[i];
	return kept;
}

int object_match_functions(struct object *object, const char *pattern,
			   struct object_symbol **ret_v, size_t *ret_n, struct ubp_err *err)
{
	const struct symtab *symtab;
	const struct sym **syms;
	struct object_symbol *v;
	size_t n, kept = 0;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	syms = malloc((symtab->n_syms + 1) * sizeof(struct sym *));
	n = syms ? collect(object, symtab, pattern, syms) : 0;
	v = calloc(n + 1, sizeof(*v));
	if (!syms || !v) {
		free(syms);
		free(v);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		kept += sym_describe(object, syms[i], &v[kept]) == 0;
	free(syms);
	qsort(v, kept, sizeof(*v), compare_symbols);
	*ret_v = v;
	*ret_n = kept;
	return 0;
}

bool object_has_symtab(struct object *object)
{
	const struct symtab *symtab;
	struct ubp_err ignored;

	return symtab_get(object, &symtab, &ignored) == 0 && symtab->has_symtab;
}
