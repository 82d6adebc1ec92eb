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

/* Opaque; its inside is engine/base/filter_program.h, for the evaluators. */
struct filter;

/*
 * Parse a filter over the fields of @probe's event: its args, and those that
 * every event has (docs/differences.md says which have no meaning here). Only
 * names, types and places of the args are looked at, so one filter serves all
 * probes of an event; the filter does not refer to @probe afterwards.
 *
 * Returns 0 and sets *ret_filter (NULL for "0": no filter), or a negative errno
 * with the kernel's message. err->command is then the filter's text without
 * trailing blanks and err->caret the column that the kernel logs, which may lie
 * behind the text. Texts of 4096 bytes and more get -EINVAL without a caret.
 */
int filter_parse(const char *text, const struct spec_probe *probe, struct filter **ret_filter,
		 struct ubp_err *err);

/* As it was written, without blanks behind; the filter's. NULL: nobody wrote it, or @filter is NULL. */
const char *filter_text(const struct filter *filter);

/*
 * One that passes what both pass; NULL passes everything. *ret_filter is new, with the text of @a, or NULL. Returns 0, -ENOMEM, or -E2BIG: together they
 * have too many tests.
 */
int filter_both(const struct filter *a, const struct filter *b, struct filter **ret_filter);

/* NULL is fine. */
void filter_free(struct filter *filter);

#endif
