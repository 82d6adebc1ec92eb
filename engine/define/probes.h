/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The probes of definitions, one beside each spec_probe of the table. */

#ifndef UBP_DEFINE_PROBES_H
#define UBP_DEFINE_PROBES_H

#include <stddef.h>

struct defined_probe;
struct definitions;
struct spec_probe;
struct ubp_err;
struct uprobe_handler;

const struct spec_probe *probes_spec(const struct definitions *defs, size_t i);
/*
 * The table has got more: make probes of them, all with @filter (may be NULL). If that
 * fails, those from number @n_before on are forgotten.
 */
int probes_take_up(struct definitions *defs, size_t n_before, const char *filter,
		   struct ubp_err *err);
/* What definitions have one for: for @p, which has passed the checks, but is not in a list yet, or has no window. */
void probes_set_handler(struct defined_probe *p, const struct uprobe_handler *handler);
/* Forget those from number @n on, in the table, too. */
void probes_forget(struct definitions *defs, size_t n);
/* All of them; the table stays. */
void probes_free(struct definitions *defs);

#endif
