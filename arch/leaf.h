/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a function carries out from its start to its rets without a call: instructions that have the same effect in a copy of them. A detour at the function's entry
 * carries out that copy, in which what records a return stands in place of each ret (detour_plan.leaf). So the ret itself, which has no room for a jump perhaps, is met
 * by those alone who come some other way.
 *
 *     entry           -> the copy
 *     ret             -> the detour for returns, which returns
 *     any other way   -> the function itself, at the instruction that is not copied: a call, a jump to elsewhere,
 *     out of the copy    what cannot be moved. From there on it is as if there were no copy.
 *
 * Copied is what may be reached from the start, and from which a ret may be, by nothing but such instructions.
 */

#ifndef UBP_ARCH_LEAF_H
#define UBP_ARCH_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UBP_LEAF_CODE_MAX 4096 /* bytes of a function that are looked at */
#define UBP_LEAF_COPY_MAX 3072
#define UBP_LEAF_INSNS    768
/* Places of the function that a copy may lead out to: each instruction has two at most; and what is behind the jump at the entry. */
#define UBP_LEAF_EXITS (2 * UBP_LEAF_INSNS + 1)

enum leaf_kind {
	LEAF_PLAIN,  /* it goes on behind itself */
	LEAF_JUMP,   /* to .target */
	LEAF_BRANCH, /* to .target, or it goes on behind itself */
	LEAF_RET,
};

struct leaf_insn {
	uint16_t from; /* offset in the function */
	uint8_t len;
	uint8_t kind;    /* enum leaf_kind */
	uint16_t target; /* offset in the function */
	/* What the back-end wants to know again: of LEAF_PLAIN, where its pc-relative displacement is, 0: it has none; of LEAF_BRANCH, its condition. */
	uint8_t own;
};

/* Without addresses, in one piece of memory: free with free(). */
struct leaf {
	uint32_t size;       /* bytes of all of it */
	uint16_t n;          /* of .insns, in the order of their places */
	uint16_t len;        /* bytes of .code: up to the end of the last one */
	uint16_t reach;      /* up to the last place that a copy leads out to; at least .len */
	uint16_t copy_max;   /* bytes that a copy takes at most */
	bool has_loop;       /* some branch leads back */
	const uint8_t *code; /* the function's, behind .insns */
	struct leaf_insn insns[];
};

/* A copy, made for one address. */
struct leaf_copy {
	uint8_t code[UBP_LEAF_COPY_MAX];
	uint16_t len;
	uint16_t n;
	/* Whoever is at .at of the copy is at .from of the function, with all registers as they would be. */
	struct leaf_place {
		uint16_t at, from;
		bool is_ret; /* UBP_LEAF_RET bytes that lead nowhere yet */
	} places[2 * UBP_LEAF_INSNS];
	/* Where it leads to in the function, but for its start: nothing of ours may have these in its middle while anybody is in the copy. */
	uint16_t n_exits;
	uint16_t exits[UBP_LEAF_EXITS];
};

#define UBP_LEAF_RET 5 /* a jump's */

struct window;

/* Where a copy is to stand, and what it goes on to. */
struct leaf_at {
	uint64_t func_vaddr, vaddr; /* of the function, of the copy */
	/* What is under the jump at the entry, with which the copy begins, and where the copies of these instructions are (struct window_copy). */
	const struct window *window;
	uint64_t window_vaddr;
	const uint16_t *window_at;
};

/* A copy of it, or NULL. */
struct leaf *leaf_copy_of(const struct leaf *leaf);
/* The instruction at offset @from, or NULL: it is not copied. */
const struct leaf_insn *leaf_insn_at(const struct leaf *leaf, size_t from);
/* Does a copy lead out to a place between offsets @low and @high, neither of them counted? */
bool leaf_exits_between(const struct leaf *leaf, size_t low, size_t high);

#endif
