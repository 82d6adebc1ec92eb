/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by what their names have in common, or all. */

#ifndef UBP_SYMBOLS_MATCH_H
#define UBP_SYMBOLS_MATCH_H

#include <stdbool.h>
#include <stddef.h>

struct object;
struct object_symbol;
struct ubp_err;

/* Which functions object_match_functions() is to find. */
struct object_wanted {
	const char *text; /* a pattern, as fnmatch(3) has it */
	bool is_name; /* no: one name, of C++ and Rust as people write it, with parameters or
			   * without; NAME@FILE, NAME@VERSION, or NAME@* for all of that
			   * name. Where there is no such name, it is a pattern after all */
	const char *const *exclude; /* patterns of what is left out, NULL-ended; or NULL */
};

/*
 * The functions that are defined and wanted, or all (NULL), sorted by name (strcmp), each name once. Stops
 * when @each returns non-zero, and returns that.
 */
int object_each_wanted(struct object *object, const struct object_wanted *wanted,
		       int (*each)(void *ctx, const struct object_symbol *symbol), void *ctx,
		       struct ubp_err *err);

/*
 * The functions that are wanted, by their own or by their demangled names: one for each address, by
 * the best of its names that match, sorted by name. *ret_v: free with free(). Returns 0, -ENOMEM,
 * -ENOEXEC.
 */
int object_match_functions(struct object *object, const struct object_wanted *wanted,
			   struct object_symbol **ret_v, size_t *ret_n, struct ubp_err *err);
/* Has it a table of all functions, or only names of those that it exports? */
bool object_has_symtab(struct object *object);
/* Of a stripped object: where more names were looked for, and what can be done. */
void object_say_stripped(struct object *object, char *text, size_t size);

#endif
