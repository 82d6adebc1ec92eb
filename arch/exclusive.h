/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Between a load that reserves memory and the store that needs the reservation no
 * exception may come: the store fails, its loop begins again, and so for ever. Whether an
 * instruction stands there is a question of paths: from a load to it, and from it to a
 * store. Branches are followed; a call comes back.
 *
 * For instruction sets whose instructions are words of one length.
 */

#ifndef UBP_ARCH_EXCLUSIVE_H
#define UBP_ARCH_EXCLUSIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exclusive_kind {
	EXCLUSIVE_NOT,
	EXCLUSIVE_LOAD,
	EXCLUSIVE_STORE,
	EXCLUSIVE_CLEAR, /* gives the reservation up */
};

#define EXCLUSIVE_NEXT 2

/* What the instruction set knows of the word with index @i. */
struct exclusive_insns {
	enum exclusive_kind (*kind)(const uint8_t *code, size_t i);
	/*
	 * Indexes of what may run behind it, up to EXCLUSIVE_NEXT of them; returns how many.
	 * They may lie outside of the code.
	 */
	size_t (*next)(const uint8_t *code, size_t i, size_t *ret_next);
};

/* Does word @at of @n lie between such a load and its store, itself none of them? */
bool exclusive_is_between(const struct exclusive_insns *insns, const uint8_t *code, size_t n,
			  size_t at);

#endif
