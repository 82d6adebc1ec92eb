/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes in words: definitions_listing() and what stands beside it. */

#ifndef UBP_DEFINE_DESCRIBE_H
#define UBP_DEFINE_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

struct definitions;

const char *describe_listing(struct definitions *defs, size_t i);
const char *describe_format(struct definitions *defs, size_t i);
const char *describe_explain(struct definitions *defs, size_t i);
char *describe_function(const struct definitions *defs, size_t i);
const char *describe_stop(struct definitions *defs, size_t i);
const char *describe_break(struct definitions *defs, size_t i, bool *ret_perhaps);
const char *describe_for_kernel(struct definitions *defs, size_t i, const char **ret_why);

#endif
