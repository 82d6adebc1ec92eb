/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Inside operations*.c: the machine that carries out a DWARF expression on sums. */

#ifndef UBP_DWARF_MACHINE_H
#define UBP_DWARF_MACHINE_H

#include "engine/dwarf/location_pieces.h"

#define MACHINE_STACK_MAX 16

struct machine {
	const struct location_at *at;
	const char *name; /* of the variable, for messages */
	struct ubp_err *err;
	unsigned depth; /* of expressions in expressions */
	struct sum stack[MACHINE_STACK_MAX];
	size_t n;
};

/* All operations of an expression; @attr is what they come from, or NULL. Errors as location_of(). */
int machine_run(struct machine *m, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t n_ops,
		struct location *ret_location);

/* -ENOEXEC: no expression of sense goes so deep. */
int machine_push(struct machine *m, struct sum sum);

/* What an operation puts on the stack that means something at one place only, or -ENOTSUP. */
int machine_push_place(struct machine *m, Dwarf_Attribute *attr, const Dwarf_Op *op);

/* Is it an address of the stack: a number added to the register that this, or its frame, is in? */
bool machine_is_stack(const struct machine *m, const struct sum *sum);

/* -ENOTSUP: no fetch arg can do @atom. */
int machine_unsupported(struct machine *m, unsigned atom);

/* -ENOEXEC: the expression makes no sense. */
int machine_malformed(struct machine *m);

#endif
