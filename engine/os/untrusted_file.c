/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/os/untrusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "engine/os/opener.h"
#include "engine/os/silent.h"

#define KNOWN        64
#define KNOWN_FOR_NS 100000000ULL

/* Length of "/proc/PID/root" at the start of @path, or 0. */
static size_t root_len(const char *path)
{
	size_t digits;

	if (strncmp(path, "/proc/", 6) != 0)
		return 0;
	digits = strspn(path + 6, "0123456789");
	return digits && strncmp(path + 6 + digits, "/root/", 6) == 0 ? 6 + digits + 5 : 0;
}

/* PID of "/proc/PID/...": the process that has us look there; 0: nobody has. */
static pid_t pid_in(const char *path)
{
	size_t digits = strncmp(path, "/proc/", 6) == 0 ? strspn(path + 6, "0123456789") : 0;

	return digits && digits < 10 && path[6 + digits] == '/' ? (pid_t)atoi(path + 6) : 0;
}

/* --- without openat2() ------------------------------------------------------------------ */

#define DEPTH_MAX    256
#define SYMLINKS_MAX 40 /* as the kernel */

struct walk {
	int dirs[DEPTH_MAX]; /* from the root to where it is: ".." is the one before, whatever is moved meanwhile */
	unsigned n, n_links;
	bool no_follow; /* the last component is what it is, a symlink or not */
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

static bool is_last(const char *behind)
{
	return behind[strspn(behind, "/")] == '\0';
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
	if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode) &&
	    !(walk->no_follow && is_last(name + len))) {
		rc = follow(walk, fd, name + len);
		close(fd);
		return rc;
	}
	memmove(walk->todo, name + len, strlen(name + len) + 1);
	walk->dirs[walk->n++] = fd;
	return 0;
}

static int walk_from(int root, const char *path, bool no_follow)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	const char *name;
	int rc = 0;

	if (!walk)
		return -ENOMEM;
	walk->no_follow = no_follow;
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

int file_walk(int root, const char *path)
{
	return walk_from(root, path, false);
}

/* ---------------------------------------------------------------------------------------- */

/* As the process with that root would find it: a descriptor that is no more than a place. */
static int find_in_root(const char *path, size_t len, int no_follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (unsigned)no_follow,
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
			     ? walk_from(dir, path + len, no_follow)
			     : -errno;
	close(dir);
	return fd;
}

static int find(const char *path, enum opener_want want)
{
	size_t len = root_len(path);
	int no_follow = want == OPENER_LINK ? O_NOFOLLOW : 0;
	int fd = len ? find_in_root(path, len, no_follow)
		     : open(path, O_PATH | O_CLOEXEC | no_follow);

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

static int open_dir(int found)
{
	int fd = openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* In memory: reading a symlink may keep one waiting, too. */
static int text_of_link(int found)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(found, "", text, sizeof(text));
	int fd;

	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno; /* ENOENT: it is no symlink */
	fd = memfd_create("ubp-link", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n) {
		close(fd);
		return -EIO;
	}
	return fd;
}

/* As opener_find says. */
static int find_here(const char *path, enum opener_want want, struct stat *ret_st)
{
	int fd = -EINVAL, found = find(path, want);

	memset(ret_st, 0, sizeof(*ret_st));
	if (found < 0)
		return found;
	if (fstat(found, ret_st) < 0)
		fd = -errno;
	else if (want == OPENER_STAT)
		fd = 0;
	else if (want == OPENER_DIR)
		fd = open_dir(found);
	else if (want == OPENER_LINK)
		fd = text_of_link(found);
	else if (S_ISREG(ret_st->st_mode))
		fd = open_again(path, found, ret_st);
	close(found);
	return fd;
}

/* What was said of a process lately: one has many files. */
static bool is_suspect(pid_t pid)
{
	static struct {
		pthread_mutex_t lock;
		struct {
			pid_t pid;
			bool is;
			uint64_t until_ns;
		} v[KNOWN];
	} known = { .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t at = (size_t)pid % KNOWN;
	struct timespec now = { 0 };
	uint64_t now_ns;
	bool is;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	pthread_mutex_lock(&known.lock);
	if (known.v[at].pid != pid || known.v[at].until_ns < now_ns) {
		known.v[at].is = silent_suspect(pid) != SILENT_NOT;
		known.v[at].pid = pid;
		known.v[at].until_ns = now_ns + KNOWN_FOR_NS;
	}
	is = known.v[at].is;
	pthread_mutex_unlock(&known.lock);
	return is;
}

/* A program that could not harm us otherwise must not have us wait for its file systems. */
static int find_with_care(const char *path, enum opener_want want, struct stat *ret_st)
{
	pid_t pid = pid_in(path);

	if (pid && is_suspect(pid))
		return opener_ask(find_here, pid, path, want, ret_st);
	return find_here(path, want, ret_st);
}

int file_open(const char *path, struct stat *ret_st)
{
	return find_with_care(path, OPENER_FILE, ret_st);
}

int file_open_head(const char *path)
{
	struct stat st;

	return find_with_care(path, OPENER_HEAD, &st);
}

int file_stat(const char *path, struct stat *ret_st)
{
	return find_with_care(path, OPENER_STAT, ret_st);
}

DIR *file_opendir(const char *path)
{
	struct stat st;
	int fd = find_with_care(path, OPENER_DIR, &st);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int code = fd < 0 ? -fd : errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = dir ? 0 : code;
	return dir;
}

bool file_is_shortage(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

int file_readlink(const char *path, char *buf, size_t size)
{
	struct stat st;
	int fd = find_with_care(path, OPENER_LINK, &st);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, buf, size, 0);
	if (n < 0)
		n = -errno;
	else if ((size_t)n == size)
		n = -ENAMETOOLONG;
	else
		buf[n] = '\0';
	close(fd);
	return n < 0 ? (int)n : 0;
}

int file_identity(const char *path, uint64_t *ret_dev, uint64_t *ret_ino)
{
	struct statx stx;
	struct stat st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &stx) == 0) {
		*ret_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
		*ret_ino = stx.stx_ino;
		return 0;
	}
	/* Before Linux 4.11, and where a filter does not know it. */
	if ((errno != ENOSYS && errno != EPERM) || stat(path, &st) < 0)
		return -errno;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}

const char *file_error(int rc)
{
	switch (rc) {
	case -ETIMEDOUT:
		return "its file system does not answer";
	case -EFBIG:
		return "it is larger than 256 MiB, on a file system that others serve: "
		       "such files are read into memory";
	case -EDQUOT:
		return "it is on a file system that others serve, and such files are read into "
		       "memory: 1024 MiB of them are open";
	case -ENOTSUP:
		return "a folder on a file system that others serve";
	default:
		return strerror(-rc);
	}
}
