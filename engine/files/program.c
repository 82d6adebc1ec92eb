/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/nearest.h"
#include "engine/files/file_root.h"
#include "engine/os/untrusted_file.h"

/* What execvp() takes without PATH (confstr(_CS_PATH)), and what it may have. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* The next folder of a list. False: that was all. An empty one means here. */
static bool next_folder(const char **list, char folder[static PATH_MAX])
{
	while (*list) {
		size_t len = strcspn(*list, ":");
		const char *from = *list;

		*list = from[len] == ':' ? from + len + 1 : NULL;
		if (len >= PATH_MAX)
			continue;
		memcpy(folder, len ? from : ".", len ? len : 1);
		folder[len ? len : 1] = '\0';
		return true;
	}
	return false;
}

static const char *folders(void)
{
	const char *path = getenv("PATH");

	return path ? path : DEFAULT_PATH;
}

/* In another root the process itself may, and no path is followed from here. Returns 0 or -errno. */
static int may_execute(const struct file_root *root, const char *open)
{
	struct stat st;
	int rc;

	if (!root->path[0])
		return faccessat(AT_FDCWD, open, X_OK, AT_EACCESS) == 0 ? 0 : -errno;
	rc = file_stat(open, &st);
	return rc < 0 ? rc : st.st_mode & 0111 ? 0 : -EACCES;
}

/* Is that a program? 0; -ENOEXEC: no ELF file; -errno. *ret_open is the caller's in any case. */
static int look_at(const struct file_root *root, const char *path, char **ret_open)
{
	struct elf_ident ident;
	int rc = file_root_resolve(root, path, ret_open);

	if (rc == 0)
		rc = may_execute(root, *ret_open);
	return rc == 0 ? header_peek(*ret_open, &ident) : rc;
}

int program_find(const struct file_root *root, const char *name, char **ret_path,
		 char **ret_open, char **ret_script)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];
	const char *list = folders();

	*ret_script = NULL;
	while (next_folder(&list, folder)) {
		char *open = NULL;
		int kind, n = snprintf(path, sizeof(path), "%s/%s", folder, name);

		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		kind = look_at(root, path, &open);
		if (kind == 0) {
			*ret_path = strdup(path);
			*ret_open = open;
			free(*ret_script);
			*ret_script = NULL;
			if (*ret_path)
				return 0;
			free(open);
			return -ENOMEM;
		}
		free(open);
		if (file_is_shortage(kind)) {
			free(*ret_script);
			*ret_script = NULL;
			return kind;
		}
		if (kind == -ENOEXEC && !*ret_script)
			*ret_script = strdup(path);
	}
	return -ENOENT;
}

void program_offer_near(const struct file_root *root, struct nearest *nearest)
{
	const char *list = folders();
	char folder[PATH_MAX];
	struct dirent *entry;

	while (next_folder(&list, folder)) {
		char *open = NULL;
		DIR *dir = NULL;

		if (file_root_resolve(root, folder, &open) == 0)
			dir = file_opendir(open);
		free(open);
		while (dir && (entry = readdir(dir)))
			if (entry->d_name[0] != '.')
				nearest_offer(nearest, entry->d_name);
		if (dir)
			closedir(dir);
	}
}
