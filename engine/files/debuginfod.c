/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debuginfod.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char debuginfod_advice[] = "use --symbols, --debug-dir or DEBUGINFOD_URLS";

/*
 * It caches what it fetches, and what there is not. It is never required, and looked for only
 * where somebody wants it.
 */
char *debuginfod_find(const void *build_id, size_t len)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *lib, *client;
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
	char *path = NULL;
	int fd;

	if (!urls || urls[strspn(urls, " ")] == '\0' || !len)
		return NULL;
	lib = dlopen("libdebuginfod.so.1", RTLD_LAZY);
	if (!lib)
		return NULL;
	*(void **)&begin = dlsym(lib, "debuginfod_begin");
	*(void **)&find = dlsym(lib, "debuginfod_find_debuginfo");
	*(void **)&end = dlsym(lib, "debuginfod_end");
	client = begin && find && end ? begin() : NULL;
	if (!client)
		return NULL;
	fd = find(client, build_id, (int)len, &path);
	if (fd >= 0) {
		close(fd);
	} else {
		free(path);
		path = NULL;
	}
	end(client);
	return path;
}
