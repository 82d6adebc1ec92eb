/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by address. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/search.h"
#include "engine/base/sort.h"
#include "engine/elf/eh_frame.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/gopclntab.h"
#include "engine/symbols/symtab.h"

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

int sym_compare_names(const struct sym *a, const struct sym *b)
{
	unsigned rank_a = sym_rank(a), rank_b = sym_rank(b);
	size_t plain_a, plain_b, len_a, len_b;

	if (rank_a != rank_b)
		return rank_a > rank_b ? -1 : 1;
	if (a->is_weak != b->is_weak)
		return a->is_weak ? 1 : -1;
	plain_a = leading_underscores(a->name);
	plain_b = leading_underscores(b->name);
	if (plain_a != plain_b)
		return plain_a < plain_b ? -1 : 1;
	len_a = strnlen(a->name, SYM_NAME_MAX);
	len_b = strnlen(b->name, SYM_NAME_MAX);
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	return strncmp(a->name, b->name, SYM_NAME_MAX);
}

static int compare_places(const void *pa, const void *pb)
{
	const struct sym *a = *(const struct sym *const *)pa;
	const struct sym *b = *(const struct sym *const *)pb;

	if (a->elf_vaddr != b->elf_vaddr)
		return a->elf_vaddr < b->elf_vaddr ? -1 : 1;
	return sym_compare_names(a, b);
}

void sym_sort_by_place(const struct sym **syms, size_t n)
{
	struct sort_item *items = malloc((n + 1) * sizeof(*items));
	size_t alike;

	if (!n) {
		free(items);
		return;
	}
	if (!items) {
		qsort(syms, n, sizeof(struct sym *), compare_places);
		return;
	}
	for (size_t i = 0; i < n; i++)
		items[i] = (struct sort_item){ syms[i]->elf_vaddr, (void *)(uintptr_t)syms[i] };
	sort_items(items, n);
	for (size_t i = 0; i < n; i++)
		syms[i] = items[i].value;
	for (size_t i = 0; i < n; i += alike) {
		for (alike = 1; i + alike < n && items[i + alike].key == items[i].key;)
			alike++;
		if (alike > 1)
			qsort(syms + i, alike, sizeof(struct sym *), compare_places);
	}
	free(items);
}

/* Functions and labels, aliases folded: the best name stays, with the largest size. */
static size_t collect(const struct symtab *symtab, const struct sym **syms,
		      struct extent *extents)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < symtab->n_syms; i++)
		if (symtab->syms[i].kind == SYM_FUNCTION || symtab->syms[i].kind == SYM_LABEL)
			syms[n++] = &symtab->syms[i];
	sym_sort_by_place(syms, n);
	for (size_t i = 0; i < n; i++) {
		struct extent *last = kept ? &extents[kept - 1] : NULL;
		uint64_t end;

		if (__builtin_add_overflow(syms[i]->elf_vaddr, syms[i]->size, &end))
			end = UINT64_MAX;
		if (!last || last->start != syms[i]->elf_vaddr)
			extents[kept++] = (struct extent){ .start = syms[i]->elf_vaddr,
							   .end = end,
							   .sym = syms[i] };
		else if (end > last->end)
			last->end = end;
	}
	return kept;
}

/* A label inside a function is a place of that function, not one of its own. */
static size_t drop_inner_labels(struct extent *extents, size_t n)
{
	uint64_t reach = 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_label = extents[i].sym->kind == SYM_LABEL;

		if (is_label && extents[i].start < reach)
			continue;
		if (!is_label && extents[i].end > reach)
			reach = extents[i].end;
		extents[kept++] = extents[i];
	}
	return kept;
}

/* Sections of code, by start. */
struct code {
	struct code_range {
		uint64_t start, end;
	} * ranges;
	size_t n, at; /* ranges before .at start at or below the last address asked for */
	uint64_t end; /* the largest end among those */
};

static int compare_ranges(const void *pa, const void *pb)
{
	const struct code_range *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

static int find_code(const struct object *object, struct code *ret_code)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t n = 0;

	*ret_code = (struct code){ .ranges = calloc(object->n_sections + 1,
						    sizeof(struct code_range)) };
	if (!ret_code->ranges)
		return -ENOMEM;
	while (n < object->n_sections && (section = elf_nextscn(object->elf, section))) {
		struct code_range *range = &ret_code->ranges[n];

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		range->start = header.sh_addr;
		if (!__builtin_add_overflow(header.sh_addr, header.sh_size, &range->end))
			n++;
	}
	qsort(ret_code->ranges, n, sizeof(ret_code->ranges[0]), compare_ranges);
	ret_code->n = n;
	return 0;
}

/*
 * The end of the section of code that holds @elf_vaddr, else of the segment. Asked
 * for ascending addresses: corrupt files may hold very many sections.
 */
static uint64_t end_of_code(const struct object *object, struct code *code, uint64_t elf_vaddr)
{
	const struct segment *s;

	for (; code->at < code->n && code->ranges[code->at].start <= elf_vaddr; code->at++)
		if (code->ranges[code->at].end > code->end)
			code->end = code->ranges[code->at].end;
	if (code->end > elf_vaddr)
		return code->end;
	s = object_segment_of(object, elf_vaddr);
	return s ? s->elf_vaddr + s->file_len : elf_vaddr;
}

/* Assembly has symbols without size: they reach to the next. */
static void set_ends(const struct object *object, struct code *code, struct extent *extents,
		     size_t n)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < n; i++) {
		struct extent *e = &extents[i];

		if (e->end == e->start) {
			e->end = end_of_code(object, code, e->start);
			if (i + 1 < n && extents[i + 1].start < e->end)
				e->end = extents[i + 1].start;
		}
		reach = e->end > reach ? e->end : reach;
		e->reach = reach;
	}
}

static int build(struct object *object)
{
	struct symtab *symtab = symtab_of(object);
	size_t n = symtab->n_syms;
	const struct sym **syms = malloc((n + 1) * sizeof(struct sym *));
	struct code code = { 0 };

	if (syms && find_code(object, &code) == 0)
		symtab->extents = calloc(n ? n : 1, sizeof(*symtab->extents));
	if (!syms || !symtab->extents) {
		free(syms);
		free(code.ranges);
		return -ENOMEM;
	}
	n = collect(symtab, syms, symtab->extents);
	free(syms);
	n = drop_inner_labels(symtab->extents, n);
	set_ends(object, &code, symtab->extents, n);
	free(code.ranges);
	symtab->n_extents = n;
	return 0;
}

const struct extent *symtab_extent_at(struct object *object, uint64_t elf_vaddr)
{
	const struct symtab *symtab;
	struct ubp_err ignored;
	size_t n;

	ubp_err_reset(&ignored);
	if (symtab_get(object, &symtab, &ignored) < 0)
		return NULL;
	if ((!symtab->extents && build(object) < 0) || !symtab->extents)
		return NULL;
	/* Who looks at many functions looks at one several times, and then at one near by. */
	n = search_above_near(symtab->extents, symtab->n_extents, start, elf_vaddr,
			      &symtab_of(object)->near_extent);
	/* A function may end before the address, inside a larger one that goes on. */
	for (size_t i = n; i-- > 0 && symtab->extents[i].reach > elf_vaddr;)
		if (symtab->extents[i].end > elf_vaddr)
			return &symtab->extents[i];
	return NULL;
}

int object_function_at(struct object *object, uint64_t foffset,
		       struct object_symbol *ret_symbol)
{
	const struct extent *extent;
	uint64_t elf_vaddr, start, end;
	struct go_function function;

	if (!object_is_executable(object, foffset) ||
	    object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0)
		return -ENOENT;
	extent = symtab_extent_at(object, elf_vaddr);
	if (extent)
		return sym_describe(object, extent->sym, ret_symbol);
	if (gopclntab_at(object, elf_vaddr, &function) == 0)
		return gopclntab_describe(object, &function, ret_symbol);
	if (fde_at(object, elf_vaddr, &start, &end) < 0 || start > elf_vaddr)
		return -ENOENT;
	*ret_symbol = (struct object_symbol){
		.elf_vaddr = start,
		.size = end - start,
		.is_function = true,
	};
	return object_vaddr_to_foffset(object, start, &ret_symbol->foffset);
}

int object_extent(struct object *object, uint64_t foffset, uint64_t *ret_start,
		  uint64_t *ret_end)
{
	const struct extent *extent;
	struct go_function function;
	uint64_t elf_vaddr;

	if (!object_is_executable(object, foffset) ||
	    object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0)
		return -ENOENT;
	extent = symtab_extent_at(object, elf_vaddr);
	if (extent) {
		*ret_start = extent->start;
		*ret_end = extent->end;
		return 0;
	}
	if (gopclntab_at(object, elf_vaddr, &function) == 0) {
		*ret_start = function.start;
		*ret_end = function.end;
		return 0;
	}
	return fde_at(object, elf_vaddr, ret_start, ret_end);
}
