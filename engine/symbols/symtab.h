/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The symbols of an object: .symtab and .dynsym in one array, a hash over the
 * names, and the functions in the order of their addresses. What other files have of them
 * (engine/files/debug_sources.h) comes behind these when it is asked for.
 */

#ifndef UBP_SYMBOLS_SYMTAB_H
#define UBP_SYMBOLS_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct object_symbol;
struct ubp_err;

enum sym_kind {
	SYM_FUNCTION, /* STT_FUNC or IFUNC in an executable segment */
	SYM_LABEL,    /* NOTYPE in an executable section: assembly */
	SYM_DATA,     /* defined, and not to be run */
	SYM_IMPORT,   /* undefined here */
};

struct sym {
	const char *name;
	const char *version; /* or NULL */
	const char *library; /* of an import: where it is expected; or NULL */
	const char *file;    /* of a local symbol: its source, without folder; or NULL */
	uint64_t elf_vaddr, size;
	uint32_t next;     /* of the same hash bucket: index + 1, or 0 */
	uint8_t kind;      /* enum sym_kind */
	uint8_t entry_off; /* arch->entry_off() */
	bool is_ifunc;
	bool is_global; /* global or weak */
	bool is_weak;
	bool is_default; /* what the plain name means: not an old version */
};

/* The bytes of one function. Aliases are one. */
struct extent {
	uint64_t start, end;
	uint64_t reach; /* largest end of this and all before it */
	const struct sym *sym;
};

struct symtab {
	struct sym *syms;
	size_t n_syms;
	size_t n_own;       /* of these, in the object itself: the first ones */
	size_t n_functions; /* SYM_FUNCTION among them */
	uint64_t names_len; /* of all of them together */
	bool has_symtab; /* there is a .symtab, here or elsewhere: static functions are known */
	bool is_whole;   /* there is nothing to be had beside it */
	uint32_t *buckets;
	size_t n_buckets; /* a power of two */
	char **owned;     /* names that had to be cut from their version */
	size_t n_owned;
	struct extent *extents; /* by start; built on first use */
	size_t n_extents;
	size_t near_extent; /* search_above_near() */
};

/* Names longer than that can't be asked for: a definition has a line of 4096 bytes. */
#define SYM_NAME_MAX 4095

/* The table of @object, read on first use. Returns 0, -ENOEXEC or -ENOMEM. */
int symtab_get(struct object *object, const struct symtab **ret_symtab, struct ubp_err *err);

/*
 * Of a stripped object: look for more of them in other files. False: there are none. If there
 * are, earlier struct syms and extents are gone; strings stay.
 */
bool symtab_more(struct object *object);
/* symtab_get(), with the names of functions that are not exported, wherever they are. */
int symtab_get_all(struct object *object, const struct symtab **ret_symtab,
		   struct ubp_err *err);
/* The table that was read, or NULL. For those who make something of it and keep it there. */
struct symtab *symtab_of(const struct object *object);

/* The first symbol named @name (@len bytes), then the next ones. NULL: no more. */
const struct sym *symtab_first(const struct symtab *symtab, const char *name, size_t len);
const struct sym *symtab_next(const struct symtab *symtab, const struct sym *sym);

/*
 * How well a symbol answers to its plain name: functions before labels, global
 * before static, default before old versions. Larger is better.
 */
unsigned sym_rank(const struct sym *sym);

/* Is it a static function of that source file (without folder): by the table, or by DWARF? */
bool sym_is_of_file(struct object *object, const struct sym *sym, const char *file);

/* Which of two names of one address to show: negative when @a. */
int sym_compare_names(const struct sym *a, const struct sym *b);
/* By address; of those at one the best name first. */
void sym_sort_by_place(const struct sym **syms, size_t n);

/* Fill @ret_symbol. Returns 0, or -ENOENT when its code is not in the file. */
int sym_describe(const struct object *object, const struct sym *sym,
		 struct object_symbol *ret_symbol);

/* The innermost function whose bytes hold @elf_vaddr, or NULL. */
const struct extent *symtab_extent_at(struct object *object, uint64_t elf_vaddr);

#endif
