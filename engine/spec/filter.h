/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Event filters: text to a program of predicates. Which hits pass is decided by
 * engine/fetch/match.h, over event records.
 */

#ifndef UBP_SPEC_FILTER_H
#define UBP_SPEC_FILTER_H

#include "engine/spec/spec.h"

struct ubp_err;

/* Opaque; its inside is engine/spec/filter_program.h, for the evaluators. */
struct filter;

/*
 * Parse a filter over the fields of @probe's event. Returns 0 and sets
 * *ret_filter (NULL for "0": no filter), or a negative errno with the kernel's
 * message. err->command is then the filter's text and err->caret the position
 * that the kernel logs (fetchargs 11).
 */
int filter_parse(const char *text, const struct spec_probe *probe, struct filter **ret_filter,
		 struct ubp_err *err);

void filter_free(struct filter *filter);

#endif
