/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How many places of a file can be probed in which way, for
 * the public interface.
 */

#include "engine/code/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "engine/elf/object.h"
#include "engine/files/locate.h"
#include "engine/ubp_files.h"

#define N_WHY (sizeof((struct ubp_coverage_counts){ 0 }.why) / sizeof(uint64_t))

_Static_assert(WINDOW_N <= N_WHY, "room for all reasons");

static void copy_counts(struct ubp_coverage_counts *ret, const struct coverage_counts *counts)
{
	ret->n = counts->n;
	ret->one = counts->one;
	ret->several = counts->several;
	ret->beside = counts->beside;
	ret->beside_args = counts->beside_args;
	ret->breakpoint = counts->breakpoint;
	ret->refused = counts->refused;
	memcpy(ret->why, counts->why, sizeof(counts->why));
}

int ubp_coverage(const char *target, bool insns, struct ubp_coverage *ret_coverage,
		 struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	struct object *object = NULL;
	struct object_coverage found;
	int rc;

	ubp_err_reset(err);
	memset(ret_coverage, 0, sizeof(*ret_coverage));
	rc = object_locate(target, 0, &path, &open_path, err);
	if (rc == 0)
		rc = object_open(open_path, &object, err);
	if (rc == 0)
		rc = object_coverage(object, insns, &found, err);
	if (rc == 0) {
		copy_counts(&ret_coverage->entries, &found.entries);
		copy_counts(&ret_coverage->usdt, &found.notes);
		copy_counts(&ret_coverage->insns, &found.insns);
	}
	object_free(object);
	free(path);
	free(open_path);
	return rc;
}

const char *ubp_coverage_why(unsigned i)
{
	return i != WINDOW_OK && i < WINDOW_N ? object_refusal_name((enum window_refusal)i)
					      : NULL;
}
