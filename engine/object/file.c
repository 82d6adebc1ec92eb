/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Length of "/proc/PID/root" at the start of @path, or 0. */
static size_t root_len(const char *path)
{
	size_t digits;

	if (strncmp(path, "/proc/", 6) != 0)
		return 0;
	digits = strspn(path + 6, "0123456789");
	return digits && strncmp(path + 6 + digits, "/root/", 6) == 0 ? 6 + digits + 5 : 0;
}

/* As the process with that root would find it. */
static int find_in_root(const char *path, size_t len)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char root[40];
	int dir, fd, saved;

	snprintf(root, sizeof(root), "%.*s", (int)len, path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path + len, &how, sizeof(how));
	saved = errno;
	close(dir);
	/* Before Linux 5.6, and where a filter does not know it. */
	if (fd < 0 && (saved == ENOSYS || saved == EPERM))
		return open(path, O_PATH | O_CLOEXEC);
	errno = saved;
	return fd;
}

/* The very file that was looked at. */
static int open_again(const char *path, int found, const struct stat *st)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char again[40];
	struct stat other;
	int fd;

	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	fd = open(again, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	/* There is no /proc: an empty container. Then it has no other roots, either. */
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &other) < 0 || other.st_dev != st->st_dev || other.st_ino != st->st_ino) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int file_open(const char *path, struct stat *ret_st)
{
	size_t len = root_len(path);
	int fd, found = len ? find_in_root(path, len) : open(path, O_PATH | O_CLOEXEC);

	memset(ret_st, 0, sizeof(*ret_st));
	if (found < 0)
		return -errno;
	if (fstat(found, ret_st) < 0 || !S_ISREG(ret_st->st_mode)) {
		close(found);
		return -EINVAL;
	}
	fd = open_again(path, found, ret_st);
	close(found);
	return fd;
}
