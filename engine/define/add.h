/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions as they come: which are the kernel's, which are by source, which of several files. */

#ifndef UBP_DEFINE_ADD_H
#define UBP_DEFINE_ADD_H

#include <stddef.h>

struct definitions;
struct ubp_err;

/* What definitions_add() and definitions_add_events() do, on whatever thread. */
int add_definition(struct definitions *defs, const char *definition, const char *filter,
		   struct ubp_err *err);
int add_events(struct definitions *defs, const char *text, size_t len, const char *filter,
	       struct ubp_err *err);

#endif
