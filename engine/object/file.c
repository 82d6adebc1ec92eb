/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- without openat2() ------------------------------------------------------------------ */

#define DEPTH_MAX    256
#define SYMLINKS_MAX 40 /* as the kernel */

struct walk {
	int dirs[DEPTH_MAX]; /* from the root to where it is: ".." is the one before, whatever is moved meanwhile */
	unsigned n, n_links;
	char todo[2 * PATH_MAX];
};

static void go_up(struct walk *walk, unsigned n)
{
	while (walk->n > n)
		close(walk->dirs[--walk->n]);
}

/* The symlink @fd in front of what is to do. */
static int follow(struct walk *walk, int fd, const char *rest)
{
	char link[PATH_MAX], copy[2 * PATH_MAX];
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);

	if (n < 0)
		return -errno;
	link[n] = '\0';
	if (++walk->n_links > SYMLINKS_MAX)
		return -ELOOP;
	if (snprintf(copy, sizeof(copy), "%s/%s", link, rest) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(walk->todo, copy, strlen(copy) + 1);
	if (link[0] == '/')
		go_up(walk, 1);
	return 0;
}

/* One component, @len bytes at @name. */
static int step(struct walk *walk, const char *name, size_t len)
{
	char component[NAME_MAX + 1];
	struct stat st;
	int fd, rc;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(component, name, len);
	component[len] = '\0';
	if (strcmp(component, "..") == 0 && walk->n > 1)
		go_up(walk, walk->n - 1);
	if (strcmp(component, ".") == 0 || strcmp(component, "..") == 0) {
		memmove(walk->todo, name + len, strlen(name + len) + 1);
		return 0;
	}
	if (walk->n == DEPTH_MAX)
		return -ENAMETOOLONG;
	fd = openat(walk->dirs[walk->n - 1], component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
		rc = follow(walk, fd, name + len);
		close(fd);
		return rc;
	}
	memmove(walk->todo, name + len, strlen(name + len) + 1);
	walk->dirs[walk->n++] = fd;
	return 0;
}

int file_walk(int root, const char *path)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	const char *name;
	int rc = 0;

	if (!walk)
		return -ENOMEM;
	walk->dirs[walk->n++] = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (walk->dirs[0] < 0 || strlen(path) >= PATH_MAX)
		rc = walk->dirs[0] < 0 ? -errno : -ENAMETOOLONG;
	else
		memcpy(walk->todo, path, strlen(path) + 1);
	while (rc == 0 && *(name = walk->todo + strspn(walk->todo, "/")))
		rc = step(walk, name, strcspn(name, "/"));
	if (rc == 0)
		rc = walk->dirs[--walk->n];
	go_up(walk, walk->dirs[0] < 0 ? 1 : 0);
	free(walk);
	return rc;
}

/* ---------------------------------------------------------------------------------------- */

/* As the process with that root would find it: a descriptor that is no more than a place. */
static int find_in_root(const char *path, size_t len)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char root[40];
	int dir, fd;

	snprintf(root, sizeof(root), "%.*s", (int)len, path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path + len, &how, sizeof(how));
	/*
	 * Before Linux 5.6, and where a filter does not know it. EAGAIN: somebody renames, and nobody can tell
	 * whether a ".." led out.
	 */
	if (fd < 0)
		fd = errno == ENOSYS || errno == EPERM || errno == EAGAIN
			     ? file_walk(dir, path + len)
			     : -errno;
	close(dir);
	return fd;
}

static int find(const char *path)
{
	size_t len = root_len(path);
	int fd = len ? find_in_root(path, len) : open(path, O_PATH | O_CLOEXEC);

	return fd < 0 && !len ? -errno : fd;
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
	int fd, found = find(path);

	memset(ret_st, 0, sizeof(*ret_st));
	if (found < 0)
		return found;
	if (fstat(found, ret_st) < 0 || !S_ISREG(ret_st->st_mode)) {
		close(found);
		return -EINVAL;
	}
	fd = open_again(path, found, ret_st);
	close(found);
	return fd;
}

int file_stat(const char *path, struct stat *ret_st)
{
	int found = find(path), rc;

	if (found < 0)
		return found;
	rc = fstat(found, ret_st) < 0 ? -errno : 0;
	close(found);
	return rc;
}

DIR *file_opendir(const char *path)
{
	int fd, found = find(path);
	DIR *dir;

	if (found < 0)
		return NULL;
	fd = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(found);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}
