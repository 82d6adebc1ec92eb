/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Types of variables: what they are called, how fetch args print them, what is in them. */

#ifndef UBP_DWARF_TYPE_H
#define UBP_DWARF_TYPE_H

#include "engine/dwarf/dwarf_priv.h"

/* A type without its typedefs and qualifiers; of an array, what is left after .dim indexes. */
struct type {
	Dwarf_Die die;
	int tag; /* DW_TAG_*; 0: void */
	unsigned dim;
	uint8_t half; /* of a pair: 0: all of it, 1: the lower half or real part, 2: the other one */
	bool has_variants; /* it tells which of .variants, a DW_TAG_variant_part, is the one */
	Dwarf_Die variants;
};

/* Numbers that no fetch arg holds as one, but as two. */
enum type_pair {
	TYPE_NO_PAIR,
	TYPE_WIDE,    /* of 128 bits */
	TYPE_COMPLEX, /* of two floats or doubles */
};

enum type_kind {
	TYPE_VOID,
	TYPE_NUMBER, /* .spelling */
	TYPE_CHAR,   /* C's plain char: a number too */
	TYPE_FLOAT,
	TYPE_POINTER,
	TYPE_REFERENCE, /* C++: stands for what it refers to */
	TYPE_ARRAY,
	TYPE_RECORD, /* struct, union, class */
	TYPE_OTHER,  /* .why no fetch arg has it */
};

struct type_facts {
	enum type_kind kind;
	unsigned size; /* bytes, of what is printed: 1 2 4 8 */
	bool is_signed;
	char spelling[8]; /* "s32" */
	bool has_names;   /* its values have: values.h */
	bool is_x87;      /* a long double of ten bytes: "f80" has the 8 of an f64 */
	const char *why;
};

/* The type of @die (a variable, member, pointer). False: the DWARF makes no sense. */
bool type_of(Dwarf_Die *die, struct type *ret_type);
/* From a type that only refers to one in a unit of its own to that. */
void type_enter_unit(Dwarf_Die *die);
/* What a pointer or reference points to, what an array is made of. */
bool type_target(const struct type *type, struct type *ret_type);
bool type_element(const struct type *array, struct type *ret_type);

enum type_pair type_pair(const struct type *type);
void type_facts(const struct type *type, unsigned addr_size, struct type_facts *ret_facts);

/* Bytes. False: nobody knows. */
bool type_size(const struct type *type, unsigned addr_size, uint64_t *ret_size);
/* Elements of an array's first dimension. False: open ("int v[]"). */
bool type_count(const struct type *array, uint64_t *ret_count);
/* Is the declaration of a struct all that is here? Then *type becomes its definition, if there is one. */
void type_complete(struct dwarf *d, struct type *type);

/* As C writes it, without const and the like: "struct req*", "int[3]". Returns the length. */
size_t type_name(Dwarf_Die *variable, char *text, size_t size);

/* A member. */
struct type_member {
	struct type type;
	uint64_t bit_at;   /* from the start of the record */
	unsigned bit_size; /* 0: no bit-field */
	bool is_static;    /* .die is a declaration of it: no place in the record */
	Dwarf_Die die;
};

/*
 * Member @name (@len bytes) of record @type, also of records without a name in it, of base
 * classes, of variants. -ENOENT; -ENOTSUP with a text: in a virtual base.
 */
int type_find_member(struct dwarf *d, const struct type *type, const char *name, size_t len,
		     struct type_member *ret_member, struct ubp_err *err);
/* The member that @die is of a record that begins at @bit_at. */
int type_member_of(struct dwarf *d, Dwarf_Die *die, uint64_t bit_at,
		   struct type_member *ret_member, struct ubp_err *err);
/* Names of all, as type_find_member() finds them. */
void type_each_member(struct dwarf *d, const struct type *type,
		      void (*each)(void *ctx, const char *name), void *ctx);

#endif
