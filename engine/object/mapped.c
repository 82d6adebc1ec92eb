/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/maps.h"

#define DELETED " (deleted)"

/* The kernel writes a newline in a name as \012, and nothing else. */
static void undo_escapes(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++)
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	*to = '\0';
}

/* Owns its path. Returns 0 or -ENOMEM. */
static int file_of(const struct mapping *m, struct mapped_file *ret_file)
{
	char *path = strdup(m->path);
	size_t len;

	if (!path)
		return -ENOMEM;
	len = strlen(path);
	*ret_file = (struct mapped_file){
		.path = path,
		.is_deleted = len > strlen(DELETED) &&
			      strcmp(path + len - strlen(DELETED), DELETED) == 0,
		.start = m->start,
		.end = m->end,
		.dev = m->dev,
		.ino = m->ino,
	};
	if (ret_file->is_deleted)
		path[len - strlen(DELETED)] = '\0';
	undo_escapes(path);
	return 0;
}

static bool has_file(const struct mapped_files *files, const struct mapped_file *file)
{
	/* Backwards: the mappings of one file mostly follow each other. */
	for (size_t i = files->n; i-- > 0;)
		if (files->files[i].ino == file->ino && files->files[i].dev == file->dev &&
		    strcmp(files->files[i].path, file->path) == 0)
			return true;
	return false;
}

static int add_file(struct mapped_files *files, const struct mapping *m)
{
	struct mapped_file file, *grown;

	if (file_of(m, &file) < 0)
		return -ENOMEM;
	if (has_file(files, &file)) {
		free(file.path);
		return 0;
	}
	grown = realloc(files->files, (files->n + 1) * sizeof(*grown));
	if (!grown) {
		free(file.path);
		return -ENOMEM;
	}
	files->files = grown;
	files->files[files->n++] = file;
	return 0;
}

int mapped_read(pid_t pid, struct mapped_files *ret_files, struct ubp_err *err)
{
	struct mapped_files files = { 0 };
	struct maps maps;
	int rc = maps_read(pid, &maps, err);

	for (size_t i = 0; rc == 0 && i < maps.n; i++)
		if (maps.v[i].path[0] == '/' && add_file(&files, &maps.v[i]) < 0)
			rc = ubp_fail(err, ENOMEM, "out of memory");
	maps_free(&maps);
	if (rc < 0)
		mapped_free(&files);
	else
		*ret_files = files;
	return rc;
}

void mapped_free(struct mapped_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct mapped_files){ 0 };
}
