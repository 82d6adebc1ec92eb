/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The names of C++ and Rust functions as people write them. */

#ifndef UBP_SYMBOLS_NAMES_H
#define UBP_SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct sym;
struct symtab;

/* Of one symbol. All NULL: its name is not mangled. */
struct name {
	char *full;  /* "int ns::max<int>(int, int)" */
	char *brief; /* "ns::max<int>" */
	char *bare;  /* "ns::max"; NULL: the same as .brief */
};

/* Beside the symbols of a table. */
struct names {
	struct name *of;
	size_t n;
	bool is_cut; /* they would take too much memory: the rest is not demangled */
};

/*
 * Of all functions of the table that @object has now; good until it has more. NULL: memory is short, it was
 * cancelled, or no table.
 */
const struct names *names_get(struct object *object);
/* So many bytes at most: some times what the names take as they are. */
uint64_t names_text_max(const struct symtab *symtab);

/*
 * Is @wanted the function: its own name, or without parameters, without template arguments? Where
 * blanks stand between signs they make no difference; @without_tags, ABI tags don't either, which
 * stand in @name alone: "f[abi:cxx11]" is f.
 */
bool name_is(const struct sym *sym, const struct name *name, const char *wanted,
	     bool without_tags);
/* Does the own name, or a demangled one, match a pattern (fnmatch(3))? */
bool name_matches(const struct sym *sym, const struct name *name, const char *pattern);

#endif
