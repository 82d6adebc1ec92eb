/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How many places of a file a jump can be put at. */

#ifndef UBP_CODE_COVERAGE_H
#define UBP_CODE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/detour.h"

struct object;
struct ubp_err;

struct coverage_counts {
	uint64_t n;
	uint64_t one, several; /* a jump, in the place of so many instructions */
	uint64_t hops;         /* of those, by a short jump to a hop (arch/detour.h) */
	uint64_t puns;         /* by a punned one */
	uint64_t beside;       /* of those, behind the first instruction ... */
	uint64_t beside_args;  /* ... which leaves memory and args as they were */
	uint64_t breakpoint;   /* no jump, by .why */
	uint64_t refused;      /* no probe at all */
	uint64_t why[WINDOW_N];
};

struct object_coverage {
	/* Of functions, by symbols and FDEs, each address once. */
	struct coverage_counts entries;
	struct coverage_counts notes; /* static probes */
	struct coverage_counts insns; /* all that are known */
};

/*
 * Count. @insns: all instructions too, which takes some seconds for each megabyte of code. Returns
 * 0 or -errno, as of object_window().
 */
int object_coverage(struct object *object, bool insns, struct object_coverage *ret_coverage,
		    struct ubp_err *err);

/* A few words on an enum window_refusal. */
const char *object_refusal_name(enum window_refusal why);

#endif
