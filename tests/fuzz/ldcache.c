/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Fuzzer: the loader's cache of libraries, which may be that of a container. */

#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "engine/files/ldcache.h"
#include "engine/files/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct ldcache cache = { 0 };

	if (fd < 0) {
		fd = memfd_create("cache", MFD_CLOEXEC);
		CLAIM(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	CLAIM(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (ldcache_read(path, &cache) < 0)
		return 0;
	CLAIM(cache.n <= size);
	for (size_t i = 0; i < cache.n; i++) {
		(void)library_fits(cache.entries[i].name, "libc");
		(void)library_fits("libc.so.6", cache.entries[i].name);
		(void)strlen(cache.entries[i].path);
	}
	ldcache_free(&cache);
	return 0;
}
