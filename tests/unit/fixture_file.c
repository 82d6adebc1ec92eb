/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/fixture_file.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

const char *fixture_or_skip(const char *name)
{
	if (access(fixture_path(name), R_OK) < 0)
		skip();
	return fixture_path(name);
}

struct loaded {
	const char *part, *path;
};

static int see_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct loaded *loaded = ctx;

	(void)size;
	if (strstr(info->dlpi_name, loaded->part))
		loaded->path = info->dlpi_name;
	return 0;
}

static const char *loaded_path(const char *part)
{
	struct loaded loaded = { .part = part };

	dl_iterate_phdr(see_loaded, &loaded);
	assert_non_null(loaded.path);
	return loaded.path;
}

const char *libc_path(void)
{
	return loaded_path("/libc.so.");
}

const char *loader_path(void)
{
	return loaded_path("/ld-linux");
}

bool system_is_of_this_kind(void)
{
	unsigned char ident[EI_NIDENT] = { 0 };
	int fd = open("/bin/bash", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, ident, sizeof(ident)), sizeof(ident));
	close(fd);
	return ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
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
