/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A set of landings (landings.h): which bytes of a file's code they are, and which places may
 * name others.
 */

#ifndef UBP_CODE_LANDING_SET_H
#define UBP_CODE_LANDING_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;

/* Opaque. */
struct landings;

/* Empty, of no code. NULL: memory is short. */
struct landings *landings_new(void);
void landings_free(struct landings *landings); /* NULL: nothing */

/* Once: from now on it is about the code of @object. Returns 0 or -ENOMEM. */
int landings_cover(struct landings *landings, const struct object *object);

/* Who may come there. */
enum landing_kind {
	LANDING_NAME,    /* a symbol, or the start of an FDE: who knows it by that */
	LANDING_PAD,     /* an exception */
	LANDING_BRANCH,  /* a branch, but for those with a displacement of one byte */
	LANDING_ADDRESS, /* who has it from code that makes such an address */
	LANDING_TABLE,   /* who takes a distance from a jump table */
	LANDING_POINTER, /* who reads a pointer */
	/* Who reads an address of 4 bytes in a file of 64 bits: only code that was written by hand does. */
	LANDING_SHORT_POINTER,
	LANDING_N,
};

#define LANDINGS_ALL ((1u << LANDING_N) - 1) /* kinds: bit by enum landing_kind */

/* False: that is no code, and nothing is added. */
bool landings_add(struct landings *landings, enum landing_kind kind, uint64_t elf_vaddr);
void landings_add_all(struct landings *landings); /* nobody can tell: every byte is one */

/* Is that a byte of code? */
bool landings_has_code(const struct landings *landings, uint64_t elf_vaddr);
/* All code is in *ret_low <= elf_vaddr < *ret_high, where other things may be, too. */
void landings_bounds(const struct landings *landings, uint64_t *ret_low, uint64_t *ret_high);

/* The first landing of @kinds in @from <= elf_vaddr < @to, or 0: none. */
uint64_t landings_first(const struct landings *landings, unsigned kinds, uint64_t from,
			uint64_t to);

/* A place in code that may name another place in code. Only a look at the instruction tells. */
struct mention {
	uint64_t target; /* elf_vaddr */
	uint64_t at;     /* elf_vaddr */
};

enum mention_kind {
	/*
	 * Constants that would be addresses of code: where the linker knows addresses (no PIE), any 4 bytes,
	 * at .at, may be one. Too many to count as landings unless they prove to be operands.
	 */
	MENTION_CONSTANT,
	/* Code that may make such an address, relative to the pc: .at is where its opcode would be. */
	MENTION_ADDRESS,
	/* A branch to near behind a LANDING_NAME, if .at is an instruction's opcode. */
	MENTION_BRANCH,
	MENTION_N,
};

/* Add one. Returns 0, -ENOMEM, or -EFBIG: there are too many. */
int landings_mention(struct landings *landings, enum mention_kind kind, uint64_t target,
		     uint64_t at);
/* When all are added, and before they are asked for. */
void landings_sort_mentions(struct landings *landings, enum mention_kind kind);

/*
 * The first with @from <= target < @to, or NULL, and in *ret_n how many follow, itself
 * included.
 */
const struct mention *landings_mentions(const struct landings *landings, enum mention_kind kind,
					uint64_t from, uint64_t to, size_t *ret_n);

#endif
