/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Fixtures as files, and copies of files that are damaged and mended. */

#ifndef TESTS_UNIT_FIXTURE_FILE_H
#define TESTS_UNIT_FIXTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of a fixture. Good until the next call. */
const char *fixture_path(const char *name);

/* The same, but skips the test where it is not built: it says "fixture-arch: ...". */
const char *fixture_or_skip(const char *name);

/* The C library and the loader of this program, as it found them. */
const char *libc_path(void);
const char *loader_path(void);
/* Whether what is installed here has the word size of this test. */
bool system_is_of_this_kind(void);

/* A file in memory. */
struct patient {
	int fd;
	char path[64];  /* opens it */
	uint8_t *bytes; /* as it was */
	size_t len;
};

/* A copy of the file at @path. */
struct patient patient_admit(const char *path);
void patient_discharge(struct patient *p);

#endif
