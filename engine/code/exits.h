/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where functions are left. */

#ifndef UBP_CODE_EXITS_H
#define UBP_CODE_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct ubp_err;

enum object_exit_kind {
	EXIT_RET,
	EXIT_JUMP,    /* to another function, if it is taken */
	EXIT_JUMP_TO, /* to where an operand says: into a table, or elsewhere */
};

/* An instruction by which a function is, or may be, left. */
struct object_exit {
	uint64_t foffset;
	enum object_exit_kind kind;
	uint8_t run_up; /* EXIT_RET: bytes of what could be a run-up to it (arch/detour.h); 0: nothing could */
	bool may_fault; /* these have instructions that may make a fault */
	uint8_t several; /* the same of one that begins with several instructions under the jump */
};

struct object_exits {
	struct object_exit *exits; /* free with free() */
	size_t n;
};

/*
 * Where the function that starts at @foffset is left: decoded from its start to its
 * end, with the parts that compilers put elsewhere (NAME.cold). Errors: -ENOENT
 * (no function is known to start there), -EILSEQ (some of it cannot be decoded),
 * -ENOTSUP (no decoder), -ENOMEM, -EIO.
 */
int object_find_exits(struct object *object, uint64_t foffset, struct object_exits *ret_exits,
		      struct ubp_err *err);

#endif
