/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Locations of variables: the pieces that they consist of. */

#ifndef UBP_DWARF_LOCATION_PIECES_H
#define UBP_DWARF_LOCATION_PIECES_H

#include "engine/dwarf/dwarf_priv.h"
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

#endif
