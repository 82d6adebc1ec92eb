/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Inside variables.c and variable_values.c: the way from a variable to a part of it. */

#ifndef UBP_DWARF_WALK_H
#define UBP_DWARF_WALK_H

#include "engine/dwarf/lookup.h"
#include "engine/dwarf/var_expr.h"
#include "engine/dwarf/variable_access.h"

struct walk {
	struct lookup lookup;
	const char *text;
	struct var_expr expr;
	struct part part;
	size_t done; /* bytes of the text that .part stands for */
	struct ubp_err *err;
};

/*
 * Up to the variable, or the part of one, that .text (@len bytes) names; *ret_at: the byte that is at
 * fault. Errors, here and below, as of dwarf_value().
 */
int walk_find(struct walk *w, struct dwarf *d, const struct dwarf_place *place, size_t len,
	      size_t *ret_at);

enum type_kind walk_kind(const struct walk *w);
/* Where what .part points to is; its type becomes that. */
int walk_follow(struct walk *w);
/* A reference stands for what it refers to. */
int walk_follow_references(struct walk *w);
/* References, and Rust's, which are pointers called "&T". */
int walk_rust_references(struct walk *w);
/* From a record to its member @name. */
int walk_member(struct walk *w, const char *name, size_t len);

/* To what @known, of known_types.h, finds in a record. False: it finds nothing. */
bool walk_into(struct walk *w,
	       int (*known)(struct dwarf *d, const struct type *type,
			    struct type_member *ret_member, struct ubp_err *err));
/* To the elements of a vector, a slice, ...; *ret_element is what they are, if that is known by this alone, else its .tag is -1. */
void walk_elements(struct walk *w, struct type *ret_element);

/* -ENOTSUP: what .part is, @what: "is no pointer". */
int walk_not_that(struct walk *w, const char *what);
/* -ENOTSUP: a record is no single value. */
int walk_whole_record(struct walk *w);

#endif
