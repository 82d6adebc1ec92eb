/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/fixture_file.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const char *fixture_path(const char *name)
{
	static char path[PATH_MAX];
	const char *folder = getenv("FIXTURES");

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "build/fixtures", name);
	return path;
}

struct patient patient_admit(const char *path)
{
	struct patient p = { .fd = memfd_create("patient", MFD_CLOEXEC) };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && p.fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p.len = (size_t)st.st_size;
	p.bytes = malloc(p.len);
	assert_non_null(p.bytes);
	assert_int_equal(read(fd, p.bytes, p.len), p.len);
	assert_int_equal(pwrite(p.fd, p.bytes, p.len, 0), p.len);
	close(fd);
	snprintf(p.path, sizeof(p.path), "/proc/self/fd/%d", p.fd);
	return p;
}

void patient_discharge(struct patient *p)
{
	close(p->fd);
	free(p->bytes);
}
