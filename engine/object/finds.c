/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The list of files that fit a library's name. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/object/file.h"
#include "engine/object/library.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is the file known, or hidden by one of its name that the loader finds first? */
static bool is_known(struct finds *finds, const struct find *new_find, const char *path,
		     bool keep_all)
{
	for (size_t i = 0; i < finds->n; i++) {
		struct find *find = &finds->finds[i];

		if (find->dev == new_find->dev && find->ino == new_find->ino) {
			find->is_exact |= new_find->is_exact;
			return true;
		}
		/* Which of two builds for other CPU features runs is not known here. */
		if (!keep_all && find->hwcap == 0 && new_find->hwcap == 0 &&
		    strcmp(file_name(find->path), file_name(path)) == 0)
			return true;
	}
	return false;
}

int finds_add(struct finds *finds, const char *path, const char *open, bool is_exact,
	      uint64_t hwcap, bool keep_all)
{
	struct find find = { .hwcap = hwcap, .is_exact = is_exact };
	struct stat st;
	int rc = file_stat(open, &st);

	if (rc < 0)
		return rc;
	find.dev = st.st_dev;
	find.ino = st.st_ino;
	if (is_known(finds, &find, path, keep_all))
		return 0;
	if (VEC_FIT(finds->finds, finds->n + 1) < 0)
		return -ENOMEM;
	find.path = strdup(path);
	find.open = strdup(open);
	if (!find.path || !find.open) {
		free(find.path);
		free(find.open);
		return -ENOMEM;
	}
	finds->finds[finds->n++] = find;
	return 0;
}

void finds_free(struct finds *finds)
{
	for (size_t i = 0; i < finds->n; i++) {
		free(finds->finds[i].path);
		free(finds->finds[i].open);
	}
	free(finds->finds);
	*finds = (struct finds){ 0 };
}

static int fail_several(const struct finds *finds, const char *target, bool exact_only,
			struct ubp_err *err)
{
	char list[512];
	size_t at = 0;

	list[0] = '\0';
	for (size_t i = 0; i < finds->n; i++) {
		int n;

		if (exact_only && !finds->finds[i].is_exact)
			continue;
		n = snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
			     finds->finds[i].path);
		if (n < 0 || (size_t)n >= sizeof(list) - at)
			break;
		at += (size_t)n;
	}
	return ubp_fail(err, EEXIST, "'%.128s' is several libraries: %s; give a full %s",
			target, list, exact_only ? "path" : "file name or path");
}

int finds_choose(struct finds *finds, const char *target, char **ret_path, char **ret_open,
		 struct ubp_err *err)
{
	size_t n_exact = 0;

	for (size_t i = 0; i < finds->n; i++)
		n_exact += finds->finds[i].is_exact;
	if (finds->n == 0)
		return -ENOENT;
	if (n_exact > 1 || (n_exact == 0 && finds->n > 1))
		return fail_several(finds, target, n_exact > 1, err);
	for (size_t i = 0; i < finds->n; i++) {
		struct find *find = &finds->finds[i];

		if (n_exact == 1 && !find->is_exact)
			continue;
		*ret_path = find->path;
		*ret_open = find->open;
		find->path = find->open = NULL;
		break;
	}
	return 0;
}
