/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* For lists: how places of a file could be probed. */

#ifndef UBP_DEFINE_EXPLAIN_H
#define UBP_DEFINE_EXPLAIN_H

#include <stdint.h>

#include "engine/base/err.h"

struct object;
struct object_symbol;
struct definition_file;
struct definitions;
struct define_target;

/* Zero-initialise. */
struct explaining {
	struct definitions *defs; /* nothing is added to them: they know what can be probed */
	struct definition_file *file;
	struct object *object; /* the same, opened; NULL: it is not */
	char *path;
	char text[UBP_ERR_TEXT_MAX + 16];
};

/* About the file @name, looked up as @target says. End it in any case. */
int explaining_begin(const struct define_target *target, const char *name,
		     struct explaining *ret_explaining, struct ubp_err *err);
/*
 * "jump", "breakpoint: WHY", "refused: WHY": of the place at @foffset, the start of function
 * @symbol, or in the middle of one (NULL). Good until the next call.
 */
const char *explaining_text(struct explaining *x, uint64_t foffset,
			    const struct object_symbol *symbol);
void explaining_end(struct explaining *x);

#endif
