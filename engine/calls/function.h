/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is called. */

#ifndef UBP_CALLS_FUNCTION_H
#define UBP_CALLS_FUNCTION_H

#include <stdint.h>

#define CALLS_PATHS_MAX (1U << 20) /* see calls_path_parent() */

/* Lives as long as its struct calls; .name may change when an entry probe becomes known. */
struct calls_function {
	uint32_t number; /* from 0, in the order in which they became known */
	const char
		*name; /* of the entry's event; of the return's where there is no entry probe */
	const char *file;
	uint64_t offset; /* in the file */
};

#endif
