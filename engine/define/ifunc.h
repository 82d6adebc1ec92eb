/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions whose implementation the loader chooses. */

#ifndef UBP_DEFINE_IFUNC_H
#define UBP_DEFINE_IFUNC_H

#include <stdint.h>

struct definition_file;
struct definitions;
struct object_symbol;
struct ubp_err;

/* File offset of the implementation that an IFUNC was resolved to. -ENOENT: no process shows it. */
int ifunc_choice(struct definitions *defs, struct definition_file *file,
		 const struct object_symbol *symbol, uint64_t *ret_foffset,
		 struct ubp_err *err);

#endif
