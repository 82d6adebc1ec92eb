/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Recordings for tests: files that the writer makes, of hits that never were. */

#ifndef UBP_TESTS_UNIT_RECORDING_MAKE_H
#define UBP_TESTS_UNIT_RECORDING_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/recording/writer.h"

#define SECOND 1000000000LL

struct recording_make_host {
	const char *name, *boot;
	int64_t clock_ns, real_ns; /* when it begins */
};

json_t *recording_make_info(const struct recording_make_host *host);
struct recording *recording_make_begin(const char *path, const struct recording_make_host *host,
				       bool append);
/* Probe 0. */
void recording_make_probe(struct recording *recording, const char *definition);
/* A hit of it, of pid @number, in a look of its own. */
void recording_make_hit(struct recording *recording, int64_t time, int number,
			uint32_t data_len);
void recording_make_end(struct recording *recording);
/* Hits at the start and each second of it, numbered from @first on. */
void recording_make_file(const char *path, const struct recording_make_host *host, bool append,
			 int first, int n);

#endif
