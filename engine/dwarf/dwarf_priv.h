/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a struct dwarf; for the files of this folder. */

#ifndef UBP_DWARF_DWARF_PRIV_H
#define UBP_DWARF_DWARF_PRIV_H

#include <elfutils/libdw.h>

#include "engine/base/annex.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/dwarf/dwarf.h"

struct object;

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

struct dwarf {
	struct object *object;
	Dwarf *dw;    /* the object's */
	int64_t bias; /* elf_vaddr - address of the DWARF */
	struct dw_unit *units;
	size_t n_units, cap_units;
	struct dw_range *ranges; /* sorted, after dw_read_units() */
	size_t n_ranges, cap_ranges;
	bool has_units;
	const char *missing; /* the file of a split unit (.dwo) that is not there; NULL: none */
	uint64_t info_len;   /* bytes of DIEs, unpacked */
	uint64_t spent_ns;   /* time of the processor that walks over DIEs took */
	uint64_t late_ns;    /* that calls took beyond what is free; limits.c */
	bool is_late;        /* it is not read any more */
	bool has_long_lines; /* .is_late because of its line tables, which are too long */
	bool has_lines;
	Elf_Data *lines;        /* of .debug_line; NULL: there are none */
	struct map unit_of;     /* Dwarf_CU -> struct dw_unit */
	struct map full_names;  /* DIE -> "ns::f", malloc()ed */
	struct map paths;       /* names of files -> whole paths, malloc()ed */
	struct annexes annexes; /* what others make of it on first use */
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

/* The whole path of @file, a name in the file table of @die's unit. Kept. */
const char *dw_path(struct dwarf *d, Dwarf_Die *die, const char *file);

#endif
