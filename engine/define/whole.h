/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Whole structs and arrays: each part of one becomes an arg. */

#ifndef UBP_DEFINE_WHOLE_H
#define UBP_DEFINE_WHOLE_H

#include <stddef.h>

struct expand_arg;
struct making;
struct ubp_err;

/* One of a struct's or array's parts, which may have parts itself. */
struct whole {
	struct making *m;
	unsigned col, depth;
	const char *expr; /* "s.i" */
	const char *name; /* "s_i" */
	size_t n_added;
	unsigned *left; /* parts without parts that there may be yet; NULL: any number */
};

/* Its parts, with theirs. Returns 0, -E2BIG (there are more than .left), or as dwarf_each_part(). */
int whole_add_parts(struct whole *w);

/* @arg has no value as a whole, for @why: its parts. Without any, @why becomes the error. */
int whole_add(struct making *m, const struct expand_arg *arg, const struct ubp_err *why);
/* "req:struct" */
int whole_add_struct(struct making *m, const struct expand_arg *arg);

#endif
