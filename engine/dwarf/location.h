/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a variable is at an address: DW_AT_location and the like, as sums. */

#ifndef UBP_DWARF_LOCATION_H
#define UBP_DWARF_LOCATION_H

#include "engine/dwarf/priv.h"
#include "engine/dwarf/sum.h"

#define LOCATION_PIECES_MAX 8

enum piece_kind {
	PIECE_GONE,     /* optimised out */
	PIECE_MEMORY,   /* at address .sum */
	PIECE_VALUE,    /* .sum itself */
	PIECE_REGISTER, /* in .sum.reg; .is_vector: a float */
	PIECE_BYTES,    /* .bytes */
	PIECE_POINTER,  /* a pointer to what is gone: at .target + .target_offset */
};

struct piece {
	enum piece_kind kind;
	bool is_vector;
	bool is_stack; /* PIECE_VALUE: an address on the stack */
	struct sum sum;
	const uint8_t *bytes;
	size_t n_bytes;
	Dwarf_Die target;
	int64_t target_offset;
	uint64_t bit_size; /* 0: the rest */
};

struct location {
	size_t n;
	struct piece pieces[LOCATION_PIECES_MAX];
};

/* What locations are about. */
struct location_at {
	struct dwarf *d;
	Dwarf_Addr addr; /* of the DWARF */
	uint64_t elf_vaddr, foffset;
	uint16_t e_machine;
	uint8_t addr_size;
	bool has_function;
	Dwarf_Die function; /* that is called: not inlined */
	bool is_prologue;   /* of it, and its code is not optimised */
	const char *function_name;
};

/* @scopes as of dw_scopes_at(). -ENOENT: @elf_vaddr is no byte of the file. */
int location_at_init(struct location_at *at, struct dwarf *d, uint64_t elf_vaddr,
		     Dwarf_Die *scopes, size_t n_scopes, struct ubp_err *err);

/*
 * Where @variable is: by its DW_AT_location or DW_AT_const_value. -ENODATA: optimised out here,
 * with where it has a value; -ENOTSUP: an operation that no fetch arg can do. Texts speak of
 * @name.
 */
int location_of(const struct location_at *at, Dwarf_Die *variable, const char *name,
		struct location *ret_location, struct ubp_err *err);

#endif
