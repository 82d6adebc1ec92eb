/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/base/vec.h"
#include "engine/recording/format.h"

/* Is there a recording of ours, whole enough to be one? 1; another file that has something in it: 0; -EBUSY: it is being written; -errno: neither. */
static int look_at_old(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct recording_head head;
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		rc = -ENODATA;
	else if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		rc = -EBUSY;
	else
		rc = pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		     memcmp(head.magic, RECORDING_MAGIC, sizeof(head.magic)) == 0;
	close(fd);
	return rc;
}

static int move(const char *path, const char *suffix, struct ubp_err *err)
{
	char *to = NULL;
	int rc;

	if (asprintf(&to, "%s.%s", path, suffix) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = rename(path, to) < 0 ? ubp_fail_sys(err, "cannot rename %s", path) : 0;
	free(to);
	return rc;
}

/* --- numbers ------------------------------------------------------------------------------ */

struct numbers {
	uint64_t *v;
	size_t n, cap;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* NAME.NUMBER in the folder of @path, in order. 0 or a negative errno. */
static int find_numbers(const char *path, struct numbers *numbers)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	DIR *dir = folder ? opendir(folder) : NULL;
	int rc = folder ? 0 : -ENOMEM;
	size_t len = strlen(name);
	struct dirent *entry;

	free(folder);
	if (!dir)
		return rc < 0 ? rc : -errno;
	while (rc == 0 && (entry = readdir(dir))) {
		const char *digits = entry->d_name + len + 1;
		uint64_t number;

		if (strncmp(entry->d_name, name, len) != 0 || entry->d_name[len] != '.' ||
		    *digits < '1' || *digits > '9' ||
		    num_u64(digits, strlen(digits), 10, &number) < 0 || number == UINT64_MAX)
			continue;
		if (VEC_ROOM(numbers->v, &numbers->cap, numbers->n) < 0)
			rc = -ENOMEM;
		else
			numbers->v[numbers->n++] = number;
	}
	closedir(dir);
	if (numbers->n)
		qsort(numbers->v, numbers->n, sizeof(*numbers->v), compare);
	return rc;
}

/* What cannot be deleted is left: there is a recording to go on with. */
static void drop_old(const struct recording_files *files, const struct numbers *numbers)
{
	/* FILE itself is one, and the one that has just got its number is not among these. */
	size_t most = files->keep > 2 ? files->keep - 2 : 0;

	for (size_t i = 0; i + most < numbers->n; i++) {
		char *old = NULL;

		if (asprintf(&old, "%s.%" PRIu64, files->path, numbers->v[i]) < 0)
			return;
		if (look_at_old(old) > 0)
			(void)unlink(old);
		free(old);
	}
}

int recording_files_rotate(const struct recording_files *files, struct ubp_err *err)
{
	struct numbers numbers = { 0 };
	char suffix[24];
	int rc = find_numbers(files->path, &numbers);

	if (rc < 0) {
		free(numbers.v);
		return ubp_fail(err, -rc, "cannot look for files beside %s: %s", files->path,
				strerror(-rc));
	}
	if (files->keep == 1) {
		rc = unlink(files->path) < 0
			     ? ubp_fail_sys(err, "cannot delete %s", files->path)
			     : 0;
	} else {
		(void)snprintf(suffix, sizeof(suffix), "%" PRIu64,
			       numbers.n ? numbers.v[numbers.n - 1] + 1 : 1);
		rc = move(files->path, suffix, err);
	}
	if (rc == 0 && files->keep)
		drop_old(files, &numbers);
	free(numbers.v);
	return rc;
}

/* --- FILE --------------------------------------------------------------------------------- */

static int fail_busy(const struct recording_files *files, struct ubp_err *err)
{
	return ubp_fail(err, EBUSY, "another process is recording to %s", files->path);
}

static int put_aside(const struct recording_files *files, struct ubp_err *err)
{
	int rc = look_at_old(files->path);

	if (rc == -EBUSY)
		return fail_busy(files, err);
	if (rc < 0)
		return 0;
	if (rc == 0)
		return ubp_fail(err, EEXIST, "%s is there, and no recording: it is left alone",
				files->path);
	if (files->append)
		return 0;
	return files->rotates ? recording_files_rotate(files, err)
			      : move(files->path, "old", err);
}

static int check_file(const struct recording_files *files, int fd, uint64_t *ret_size,
		      bool *ret_is_regular, struct ubp_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ubp_fail_sys(err, "cannot create %s", files->path);
	*ret_is_regular = S_ISREG(st.st_mode);
	*ret_size = *ret_is_regular ? (uint64_t)st.st_size : 0;
	if (!*ret_is_regular && (files->append || files->rotates))
		return ubp_fail(err, EINVAL,
				"%s is no regular file: it cannot be appended to or rotated",
				files->path);
	/* Where there are no locks it goes without. */
	if (*ret_is_regular && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return fail_busy(files, err);
	return 0;
}

int recording_files_open(const struct recording_files *files, uint64_t *ret_size,
			 bool *ret_is_regular, struct ubp_err *err)
{
	int rc = put_aside(files, err), fd;

	if (rc < 0)
		return rc;
	fd = open(files->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		return ubp_fail_sys(err, "cannot create %s", files->path);
	rc = check_file(files, fd, ret_size, ret_is_regular, err);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}
