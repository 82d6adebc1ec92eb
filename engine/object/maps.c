/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"

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

/* A line of a mapped file. False: anonymous memory, [stack] and so on. */
static bool parse_line(char *line, struct mapped_file *ret_file)
{
	unsigned major, minor;
	int at = -1;
	size_t len;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64 " %n",
		   &ret_file->start, &ret_file->end, &major, &minor, &ret_file->ino,
		   &at) != 5 ||
	    at < 0 || line[at] != '/')
		return false;
	ret_file->device = (uint64_t)major << 32 | minor;
	ret_file->path = line + at;
	len = strcspn(ret_file->path, "\n");
	ret_file->path[len] = '\0';
	ret_file->is_deleted = len > strlen(DELETED) &&
			       strcmp(ret_file->path + len - strlen(DELETED), DELETED) == 0;
	if (ret_file->is_deleted)
		ret_file->path[len - strlen(DELETED)] = '\0';
	undo_escapes(ret_file->path);
	return true;
}

static int add_file(struct mapped_files *files, const struct mapped_file *file)
{
	struct mapped_file *grown;

	/* Backwards: the mappings of one file mostly follow each other. */
	for (size_t i = files->n; i-- > 0;)
		if (files->files[i].ino == file->ino &&
		    files->files[i].device == file->device &&
		    strcmp(files->files[i].path, file->path) == 0)
			return 0;
	if ((files->n & (files->n - 1)) == 0) {
		grown = realloc(files->files, (files->n ? 2 * files->n : 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		files->files = grown;
	}
	files->files[files->n] = *file;
	files->files[files->n].path = strdup(file->path);
	if (!files->files[files->n].path)
		return -ENOMEM;
	files->n++;
	return 0;
}

static int fail_open(pid_t pid, int code, struct ubp_err *err)
{
	if (code == ENOENT || code == ESRCH)
		return ubp_fail(err, ESRCH, "no process %d", pid);
	if (code == EACCES || code == EPERM)
		return ubp_fail(
			err, code,
			"process %d: may not be looked at: run as the same user, or with "
			"CAP_SYS_PTRACE",
			pid);
	return ubp_fail(err, code, "/proc/%d/maps: %s", pid, strerror(code));
}

int maps_read(pid_t pid, struct mapped_files *ret_files, struct ubp_err *err)
{
	struct mapped_files files = { 0 };
	struct mapped_file file;
	size_t room = 0, n_lines = 0;
	char path[64], *line = NULL;
	FILE *stream;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	stream = fopen(path, "re");
	if (!stream)
		return fail_open(pid, errno, err);
	errno = 0;
	while (rc == 0 && getline(&line, &room, stream) > 0) {
		n_lines++;
		if (parse_line(line, &file) && add_file(&files, &file) < 0)
			rc = ubp_fail(err, ENOMEM, "out of memory");
	}
	if (rc == 0 && ferror(stream))
		rc = fail_open(pid, errno ? errno : EIO, err);
	else if (rc == 0 && n_lines == 0)
		rc = ubp_fail(err, ESRCH,
			      "process %d has no memory: it has ended, or is a kernel thread",
			      pid);
	free(line);
	(void)fclose(stream);
	if (rc < 0) {
		maps_free(&files);
		return rc;
	}
	*ret_files = files;
	return 0;
}

void maps_free(struct mapped_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct mapped_files){ 0 };
}
