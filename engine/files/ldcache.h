/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The loader's cache of libraries, /etc/ld.so.cache. Read, never written. */

#ifndef UBP_FILES_LDCACHE_H
#define UBP_FILES_LDCACHE_H

#include <stddef.h>
#include <stdint.h>

#define LDCACHE_PATH "/etc/ld.so.cache"

struct ldcache_entry {
	const char *name; /* soname, mostly: "libc.so.6" */
	const char *path;
	uint64_t hwcap; /* not 0: for machines with certain features only */
};

struct ldcache {
	char *bytes; /* the file; entries point into it */
	struct ldcache_entry *entries;
	size_t n;
};

/*
 * Read the cache at @path, in the order in which the loader looks at it. Knows
 * "glibc-ld.so.cache1.1", alone or behind the older format. Entries that are not
 * for ELF or lie outside the file are left out. Returns 0 (also with no entries
 * where the format is another), or -errno.
 */
int ldcache_read(const char *path, struct ldcache *ret_cache);
void ldcache_free(struct ldcache *cache);

#endif
