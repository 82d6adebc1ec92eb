/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Types that every program of a language has, by the names that people know: the size of a
 * std::string_view, what is in a std::optional, the elements of a Vec. What the libraries call the
 * members inside is looked up in a table; a type that has none of these is a record like others, and so is one that
 * a program of another language, or outside of C++'s namespace std, has by the same name.
 */

#ifndef UBP_DWARF_KNOWN_TYPES_H
#define UBP_DWARF_KNOWN_TYPES_H

#include "engine/dwarf/type.h"

/*
 * Member @name of a known type, and of other types the parts that the debug information has no names
 * for: "variant" of a Rust enum (which one it is), "low" and "high" of a 128-bit number, "real" and
 * "imag" of a complex one. -ENOENT: none of these.
 */
int known_member(struct dwarf *d, const struct type *type, const char *name, size_t len,
		 struct type_member *ret_member, struct ubp_err *err);

/*
 * What such a type is printed as: the names of its parts. False: as its own members, or as a number;
 * the library may be another one than those that are known.
 */
bool known_each_part(struct dwarf *d, const struct type *type,
		     void (*each)(void *ctx, const char *name), void *ctx);

/*
 * Where the elements are: a pointer, or an array, in *ret_member. Sets *ret_element where the pointer does
 * not tell of what they are; else its .tag is -1. -ENOENT: it has none.
 */
int known_elements(struct dwarf *d, const struct type *type, struct type_member *ret_member,
		   struct type *ret_element, struct ubp_err *err);

/* The pointer that a type that works as one holds. -ENOENT: it is none. */
int known_pointer(struct dwarf *d, const struct type *type, struct type_member *ret_member,
		  struct ubp_err *err);

/* The text of what ends by a NUL: a pointer. -ENOENT: it is none. */
int known_text(struct dwarf *d, const struct type *type, struct type_member *ret_member,
	       struct ubp_err *err);

/* Has it a text that no NUL ends? */
bool known_is_counted_text(struct dwarf *d, const struct type *type);

#endif
