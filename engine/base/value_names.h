/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of numbers: what an enumeration, or bool, is printed as. Extended: the kernel prints
 * numbers. */

#ifndef UBP_BASE_VALUE_NAMES_H
#define UBP_BASE_VALUE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value_name {
	int64_t value;
	const char *name;
};

struct value_names {
	size_t n;
	bool is_flags; /* every value a bit of its own: A | B, as gdb prints it */
	const struct value_name *v;
};

#endif
