/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A table for unit tests: x86-64 register names, and files that are made up.
 * "/bin/NAME" is a file whose inode follows from NAME, "/dir" is none, "prog"
 * is a bare name that is found at "/usr/bin/prog"; all else is missing.
 */

#ifndef UBP_TESTS_SPEC_FIXTURE_H
#define UBP_TESTS_SPEC_FIXTURE_H

#include "engine/spec/table.h"

/* Environment with the functions above. */
struct spec_env fixture_env(bool strict);

/* Listing of all probes, one line each, in a static buffer. */
const char *fixture_listing(const struct spec_table *table);

#endif
