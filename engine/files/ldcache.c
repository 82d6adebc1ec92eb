/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/ldcache.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/os/untrusted_file.h"

#define CACHE_LEN_MAX (64u << 20)

/*
 * Old format: magic, padding, count; then entries of 12 bytes; then, aligned to 8,
 * the new format may follow. New format: magic and version, count, length of the
 * strings, flags, and more; then entries. Numbers are in the byte order of the
 * machine that wrote it; offsets of strings count from the new magic.
 */
#define OLD_MAGIC     "ld.so-1.7.0"
#define OLD_HEADER    16u
#define OLD_COUNT_AT  12u
#define OLD_ENTRY     12u
#define NEW_MAGIC     "glibc-ld.so.cache1.1"
#define NEW_MAGIC_LEN 20u
#define NEW_COUNT_AT  20u
#define NEW_HEADER    48u
#define NEW_ENTRY     24u

/* Low byte of the flags: ELF, ELF for libc 5, ELF for libc 6. Above: which ISA. */
#define FLAG_TYPE_MASK 0xffu
#define FLAG_ELF_MIN   1u
#define FLAG_ELF_MAX   3u

static uint32_t u32_at(const char *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

/* The whole file, with a NUL behind it, so that no string runs on. */
static int read_file(const char *path, char **ret_bytes, size_t *ret_len)
{
	struct stat st;
	size_t len, done = 0;
	char *bytes = NULL;
	int fd = file_open(path, &st), rc = 0;

	if (fd < 0)
		return fd;
	if (st.st_size > CACHE_LEN_MAX)
		rc = -EINVAL;
	len = rc == 0 ? (size_t)st.st_size : 0;
	if (rc == 0)
		bytes = malloc(len + 1);
	if (rc == 0 && !bytes)
		rc = -ENOMEM;
	while (rc == 0 && done < len) {
		ssize_t n = read(fd, bytes + done, len - done);

		if (n < 0 && errno != EINTR)
			rc = -errno;
		if (n == 0)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (rc < 0) {
		free(bytes);
		return rc;
	}
	bytes[done] = '\0';
	*ret_bytes = bytes;
	*ret_len = done;
	return 0;
}

/* Where the new format starts. False: nowhere. */
static bool find_new(const char *bytes, size_t len, size_t *ret_start)
{
	size_t start = 0;

	if (len >= OLD_HEADER && memcmp(bytes, OLD_MAGIC, strlen(OLD_MAGIC)) == 0) {
		uint64_t end = OLD_HEADER + (uint64_t)OLD_ENTRY * u32_at(bytes + OLD_COUNT_AT);

		if (end > len)
			return false;
		start = (size_t)(end + 7) & ~(size_t)7;
	}
	*ret_start = start;
	return start <= len && len - start >= NEW_HEADER &&
	       memcmp(bytes + start, NEW_MAGIC, NEW_MAGIC_LEN) == 0;
}

/* The string at @at, if it ends within the file and what a path may have; else NULL. */
static const char *string_in(const char *base, size_t len, uint32_t at)
{
	size_t left = at < len ? len - at : 0;

	if (left == 0)
		return NULL;
	return memchr(base + at, '\0', left < PATH_MAX ? left : PATH_MAX) ? base + at : NULL;
}

static int read_entries(struct ldcache *cache, const char *base, size_t len)
{
	size_t n = u32_at(base + NEW_COUNT_AT);

	if (n > (len - NEW_HEADER) / NEW_ENTRY)
		return 0;
	cache->entries = calloc(n ? n : 1, sizeof(*cache->entries));
	if (!cache->entries)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *raw = base + NEW_HEADER + i * NEW_ENTRY;
		uint32_t type = u32_at(raw) & FLAG_TYPE_MASK;
		const char *name = string_in(base, len, u32_at(raw + 4));
		const char *lib = string_in(base, len, u32_at(raw + 8));
		uint64_t hwcap;

		if (type < FLAG_ELF_MIN || type > FLAG_ELF_MAX || !name || !lib)
			continue;
		memcpy(&hwcap, raw + 16, sizeof(hwcap));
		cache->entries[cache->n++] =
			(struct ldcache_entry){ .name = name, .path = lib, .hwcap = hwcap };
	}
	return 0;
}

int ldcache_read(const char *path, struct ldcache *ret_cache)
{
	struct ldcache cache = { 0 };
	size_t len = 0, start = 0;
	int rc = read_file(path, &cache.bytes, &len);

	if (rc == 0 && find_new(cache.bytes, len, &start))
		rc = read_entries(&cache, cache.bytes + start, len - start);
	if (rc < 0) {
		ldcache_free(&cache);
		return rc;
	}
	*ret_cache = cache;
	return 0;
}

void ldcache_free(struct ldcache *cache)
{
	free(cache->entries);
	free(cache->bytes);
	*cache = (struct ldcache){ 0 };
}
