/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/library.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/files/file_root.h"
#include "engine/files/ldcache.h"
#include "engine/files/library_list.h"
#include "engine/os/untrusted_file.h"

/* Where loaders look without a cache; folders of one ISA are found below them. */
static const char *const default_folders[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib",
					       "/usr/local/lib" };
#define ISA_FOLDER "-linux-"

static bool is_version(const char *text, const char *allowed)
{
	return text[0] >= '0' && text[0] <= '9' && text[strspn(text, allowed)] == '\0';
}

/* The rest of a file's name behind what was asked for: "", ".so", ".so.6", "-2.31.so". */
static bool rest_fits(const char *rest, bool wanted_has_so)
{
	const char *so = strstr(rest, ".so");
	char version[32];
	size_t len;

	if (rest[0] == '\0')
		return true;
	if (wanted_has_so)
		return rest[0] == '.' && is_version(rest + 1, "0123456789.");
	if (strncmp(rest, ".so", 3) == 0)
		return rest[3] == '\0' || rest[3] == '.';
	/* Before glibc 2.34: libc-2.31.so. */
	if (rest[0] != '-' || !so || so[3] != '\0')
		return false;
	len = (size_t)(so - rest) - 1;
	if (len == 0 || len >= sizeof(version))
		return false;
	memcpy(version, rest + 1, len);
	version[len] = '\0';
	return is_version(version, "0123456789.");
}

enum library_fit library_fits(const char *file_name, const char *wanted)
{
	bool has_so = strstr(wanted, ".so") != NULL;
	size_t len = strlen(wanted);

	if (strcmp(file_name, wanted) == 0)
		return FIT_EXACT;
	if (!strstr(file_name, ".so") || len == 0)
		return FIT_NONE;
	if (strncmp(file_name, wanted, len) == 0 && rest_fits(file_name + len, has_so))
		return FIT_LOOSE;
	if (strncmp(file_name, "lib", 3) == 0 && strncmp(file_name + 3, wanted, len) == 0 &&
	    rest_fits(file_name + 3 + len, has_so))
		return FIT_LOOSE;
	return FIT_NONE;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Take the file at @path in @root if it is a library of the right kind. */
static int consider(const struct file_root *root, const char *path, const char *wanted,
		    uint64_t hwcap, struct library_list *found)
{
	enum library_fit fit = library_fits(base_name(path), wanted);
	struct elf_ident ident;
	char *open = NULL;
	int rc;

	if (fit == FIT_NONE)
		return 0;
	rc = file_root_resolve(root, path, &open);
	if (rc == 0)
		rc = header_peek(open, &ident);
	if (rc == 0 && ident.machine == root->ident.machine &&
	    ident.elf_class == root->ident.elf_class)
		rc = library_list_add(found, path, open, fit == FIT_EXACT, hwcap, false);
	free(open);
	return file_is_shortage(rc) ? rc : 0;
}

static int search_folder(const struct file_root *root, const char *folder, const char *wanted,
			 bool with_isa_folders, struct library_list *found)
{
	char *open = NULL, path[PATH_MAX];
	struct dirent *entry;
	int rc = file_root_resolve(root, folder, &open);
	DIR *dir;

	if (rc < 0)
		return file_is_shortage(rc) ? rc : 0;
	dir = file_opendir(open);
	rc = dir ? 0 : -errno;
	free(open);
	if (!dir)
		return file_is_shortage(rc) ? rc : 0;
	while (rc == 0 && (entry = readdir(dir))) {
		int n = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);

		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		if (with_isa_folders && strstr(entry->d_name, ISA_FOLDER) &&
		    !strstr(entry->d_name, ".so"))
			rc = search_folder(root, path, wanted, false, found);
		else
			rc = consider(root, path, wanted, 0, found);
	}
	closedir(dir);
	return rc;
}

/* The list of folders in LD_LIBRARY_PATH: ':' or ';' between, empty means here. */
static int search_list(const struct file_root *root, const char *list, const char *wanted,
		       struct library_list *found)
{
	char folder[PATH_MAX];
	int rc = 0;

	while (rc == 0 && list && *list) {
		size_t len = strcspn(list, ":;");

		if (len < sizeof(folder)) {
			memcpy(folder, len ? list : ".", len ? len : 1);
			folder[len ? len : 1] = '\0';
			rc = search_folder(root, folder, wanted, false, found);
		}
		list += len + (list[len] != '\0');
	}
	return rc;
}

static int read_cache(const struct file_root *root, struct ldcache *ret_cache)
{
	char *open = NULL;
	int rc = file_root_resolve(root, LDCACHE_PATH, &open);

	if (rc == 0)
		rc = ldcache_read(open, ret_cache);
	free(open);
	return rc;
}

int library_find(const struct file_root *root, const char *wanted, struct library_list *found)
{
	size_t n_folders = sizeof(default_folders) / sizeof(default_folders[0]);
	struct ldcache cache = { 0 };
	int rc = 0;

	if (root->pid == 0)
		rc = search_list(root, getenv("LD_LIBRARY_PATH"), wanted, found);
	if (rc == 0)
		rc = read_cache(root, &cache);
	if (!file_is_shortage(rc))
		rc = 0; /* there need not be one */
	for (size_t i = 0; i < cache.n && rc == 0; i++)
		rc = consider(root, cache.entries[i].path, wanted, cache.entries[i].hwcap,
			      found);
	ldcache_free(&cache);
	for (size_t i = 0; i < n_folders && rc == 0 && found->n == 0; i++)
		rc = search_folder(root, default_folders[i], wanted, true, found);
	return rc;
}

void library_offer_near(const struct file_root *root, struct nearest *nearest)
{
	bool full = strstr(nearest->word, ".so") != NULL;
	bool with_lib = strncmp(nearest->word, "lib", 3) == 0;
	char name[NEAREST_NAME_MAX];
	struct ldcache cache = { 0 };

	if (read_cache(root, &cache) < 0)
		return;
	for (size_t i = 0; i < cache.n; i++) {
		const char *from = cache.entries[i].name;
		size_t len;

		/* Offered as the user spells: "libz.so.1", "libz" or "z". */
		if (!with_lib && strncmp(from, "lib", 3) == 0)
			from += 3;
		len = full ? strlen(from) : strcspn(from, ".");
		if (len >= sizeof(name))
			continue;
		memcpy(name, from, len);
		name[len] = '\0';
		nearest_offer(nearest, name);
	}
	ldcache_free(&cache);
}
