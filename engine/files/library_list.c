/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/library_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/os/untrusted_file.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is the file known, or hidden by one of its name that the loader finds first? */
static bool is_known(struct library_list *found, const struct library_file *new_file,
		     const char *path, bool keep_all)
{
	for (size_t i = 0; i < found->n; i++) {
		struct library_file *file = &found->v[i];

		if (file->dev == new_file->dev && file->ino == new_file->ino) {
			file->is_exact |= new_file->is_exact;
			return true;
		}
		/* Which of two builds for other CPU features runs is not known here. */
		if (!keep_all && file->hwcap == 0 && new_file->hwcap == 0 &&
		    strcmp(file_name(file->path), file_name(path)) == 0)
			return true;
	}
	return false;
}

int library_list_add(struct library_list *found, const char *path, const char *open,
		     bool is_exact, uint64_t hwcap, bool keep_all)
{
	struct library_file file = { .hwcap = hwcap, .is_exact = is_exact };
	struct stat st;
	int rc = file_stat(open, &st);

	if (rc < 0)
		return rc;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	if (is_known(found, &file, path, keep_all))
		return 0;
	if (VEC_FIT(found->v, found->n + 1) < 0)
		return -ENOMEM;
	file.path = strdup(path);
	file.open = strdup(open);
	if (!file.path || !file.open) {
		free(file.path);
		free(file.open);
		return -ENOMEM;
	}
	found->v[found->n++] = file;
	return 0;
}

void library_list_free(struct library_list *found)
{
	for (size_t i = 0; i < found->n; i++) {
		free(found->v[i].path);
		free(found->v[i].open);
	}
	free(found->v);
	*found = (struct library_list){ 0 };
}

static int fail_several(const struct library_list *found, const char *target, bool exact_only,
			struct ubp_err *err)
{
	char list[512];
	size_t at = 0;

	list[0] = '\0';
	for (size_t i = 0; i < found->n; i++) {
		int n;

		if (exact_only && !found->v[i].is_exact)
			continue;
		n = snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
			     found->v[i].path);
		if (n < 0 || (size_t)n >= sizeof(list) - at)
			break;
		at += (size_t)n;
	}
	return ubp_fail(err, EEXIST, "'%.128s' is several libraries: %s; give a full %s",
			target, list, exact_only ? "path" : "file name or path");
}

int library_list_choose(struct library_list *found, const char *target, char **ret_path,
			char **ret_open, struct ubp_err *err)
{
	size_t n_exact = 0;

	for (size_t i = 0; i < found->n; i++)
		n_exact += found->v[i].is_exact;
	if (found->n == 0)
		return -ENOENT;
	if (n_exact > 1 || (n_exact == 0 && found->n > 1))
		return fail_several(found, target, n_exact > 1, err);
	for (size_t i = 0; i < found->n; i++) {
		struct library_file *file = &found->v[i];

		if (n_exact == 1 && !file->is_exact)
			continue;
		*ret_path = file->path;
		*ret_open = file->open;
		file->path = file->open = NULL;
		break;
	}
	return 0;
}
