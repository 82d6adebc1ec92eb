/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a struct dwarf; for the files of this folder. */

#ifndef UBP_DWARF_DWARF_PRIV_H
#define UBP_DWARF_DWARF_PRIV_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/dwarf/dwarf.h"
#include "engine/object/object.h"

/* DIEs of a scope inside each other that are looked into; references that are followed. */
#define DW_DEPTH_MAX 128
#define DW_CHAIN_MAX 16

/* Code of a unit: addresses of the DWARF, not elf_vaddrs. */
struct dw_range {
	Dwarf_Addr start, end;
	uint32_t unit;
};

#define DW_NO_SCOPE UINT32_MAX

/* A namespace, type or function that functions are in. */
struct dw_scope {
	const char *name; /* NULL: anonymous */
	uint32_t parent;  /* of the unit's .scopes, or DW_NO_SCOPE */
};

/* A DIE of a function: its declaration, code, inlined copy. */
struct dw_function {
	const void *addr;    /* of the DIE */
	const void *origin;  /* of the DIE that it is more of; or NULL */
	const char *name;    /* its own; NULL: its origin's */
	const char *linkage; /* the same */
	uint32_t scope;
	bool is_inlined; /* an inlined copy */
	bool has_code;   /* code of its own, out of line or as an inlined copy */
};

/* Code of a function out of line. */
struct dw_code {
	Dwarf_Addr start, end;
	uint32_t function;
};

struct dw_unit {
	Dwarf_Die die;
	bool is_c; /* C has no functions inside of types and functions */
	bool is_walked;
	struct dw_function *functions; /* in the order of their addresses */
	size_t n_functions, cap_functions;
	struct dw_scope *scopes;
	size_t n_scopes, cap_scopes;
	struct dw_code *code; /* sorted */
	size_t n_code, cap_code;
};

struct dw_names;

struct dwarf {
	struct object *object;
	Dwarf *dw;    /* the object's */
	int64_t bias; /* elf_vaddr - address of the DWARF */
	struct dw_unit *units;
	size_t n_units, cap_units;
	struct dw_range *ranges; /* sorted, after dw_read_units() */
	size_t n_ranges, cap_ranges;
	bool has_units;
	uint64_t info_len;   /* bytes of DIEs, unpacked */
	uint64_t spent_ns;   /* time of the processor that walks over DIEs took */
	uint64_t late_ns;    /* that calls took beyond what is free; limits.c */
	bool is_late;        /* it is not read any more */
	bool has_long_lines; /* ... for this reason */
	bool has_lines;
	Elf_Data *lines;        /* of .debug_line; NULL: there are none */
	struct map unit_of;     /* Dwarf_CU -> struct dw_unit */
	struct map full_names;  /* DIE -> "ns::f", malloc()ed */
	struct map paths;       /* names of files -> whole paths, malloc()ed */
	struct dw_names *names; /* names.c */

	/* variables.c and its like keep what they want kept here. */
	void *values;
	void (*free_values)(void *values);
};

static inline Dwarf_Addr dw_addr(const struct dwarf *d, uint64_t elf_vaddr)
{
	return elf_vaddr - (uint64_t)d->bias;
}

static inline uint64_t dw_elf_vaddr(const struct dwarf *d, Dwarf_Addr addr)
{
	return addr + (uint64_t)d->bias;
}

/* A list of @size_of_one bytes each gets room for one more. 0 or -ENOMEM. */
int dw_grow(void *list, size_t *cap, size_t n, size_t size_of_one, struct ubp_err *err);

/* Time of the processor that this thread has had. */
uint64_t dw_cpu_ns(void);

/*
 * What all walks over the units of one file may take. Sound files take a tenth of it; DIEs inside each other, a hundred
 * deep, of a few packed megabytes would take hours.
 */
uint64_t dw_cpu_limit_ns(const struct dwarf *d);

/* .units and .ranges. */
int dw_read_units(struct dwarf *d, struct ubp_err *err);

/* The unit whose code @elf_vaddr is, or NULL. */
struct dw_unit *dw_unit_at(struct dwarf *d, uint64_t elf_vaddr);

/* Code of a DIE. Stops when @each returns non-zero, and returns that. */
int dw_each_range(Dwarf_Die *die, int (*each)(void *ctx, Dwarf_Addr start, Dwarf_Addr end),
		  void *ctx);
/* Has this DIE code at @addr (an address of the DWARF)? */
bool dw_covers(Dwarf_Die *die, Dwarf_Addr addr);

/* The function out of line that @addr, of @unit, is in. */
bool dw_function_at(struct dwarf *d, struct dw_unit *unit, Dwarf_Addr addr, Dwarf_Die *ret_die);

/*
 * The scopes that @place is in, innermost first: blocks, inlined copies, the function, ..., the unit
 * last. Starts with place->scope, if that is known, and leaves out what is inside of it and no
 * block. Returns how many, at most @max; 0: nothing is known of it.
 */
size_t dw_scopes_at(struct dwarf *d, const struct dwarf_place *place, Dwarf_Die *scopes,
		    size_t max);

/*
 * What @die refers to by @attr (DW_AT_type, DW_AT_abstract_origin, ...), or also, @is_inherited, what
 * its origin or specification does. False: nothing.
 */
bool dw_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die);
/* Its abstract origin, or its specification. */
bool dw_origin(Dwarf_Die *die, Dwarf_Die *ret_die);
bool dw_inherited_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die);
/* The attribute itself, of @die, its origins and specifications: bounded, unlike dwarf_attr_integrate(). */
Dwarf_Attribute *dw_attr(Dwarf_Die *die, unsigned attr, Dwarf_Attribute *ret_attr);
/* A string that is whole, or NULL. */
const char *dw_string(Dwarf_Attribute *attr);
/* DW_AT_name by dw_attr(), or NULL. */
const char *dw_name(Dwarf_Die *die);
/* The whole path of @file, a name in the file table of @die's unit. Kept. */
const char *dw_path(struct dwarf *d, Dwarf_Die *die, const char *file);
/* By dw_attr(): false, or 0, where there is none. */
bool dw_flag(Dwarf_Die *die, unsigned attr);
bool dw_number(Dwarf_Die *die, unsigned attr, Dwarf_Word *ret_value);

/* DW_TAG_subprogram and the like; ..., and what is inlined. */
bool dw_is_function(Dwarf_Die *die);
bool dw_is_scope(Dwarf_Die *die);

/*
 * Is a function's code optimised? If not, its variables are where they are said to be only
 * behind the prologue. Judged by the function out of line: have parameters and variables one place?
 */
bool dw_is_optimised(Dwarf_Die *function);

/* functions.c: .functions, .scopes and .code of a unit, read once. */
int dw_walk_unit(struct dwarf *d, struct dw_unit *unit, struct ubp_err *err);
void dw_free_unit(struct dw_unit *unit);
/* The unit that a DIE is in, or NULL. */
struct dw_unit *dw_unit_of(struct dwarf *d, const Dwarf_Die *die);
/* The function whose DIE is at @addr, or NULL. */
const struct dw_function *dw_function_of(struct dwarf *d, const void *addr,
					 struct dw_unit **ret_unit);
/* "ns::Class::f" of the DIE of a function, inlined or not; "?" where it has no name. Kept. */
const char *dw_full_name(struct dwarf *d, Dwarf_Die *die);

/* names.c. A DIE of a function that was sought: its code, an inlined copy, a declaration. */
struct dw_instance {
	Dwarf_Die die;
	bool is_inlined, has_code;
};

struct dw_instances {
	struct dw_instance *v;
	size_t n, cap;
};
/* All DIEs of all functions of that name, or of what a symbol says to have it. -ENOENT: there is none, with near names. */
int dw_find(struct dwarf *d, const char *name, struct dw_instances *ret_found,
	    struct ubp_err *err);
void dw_instances_free(struct dw_instances *found);
void dw_free_names(struct dwarf *d);

#endif
