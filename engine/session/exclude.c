/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that a session without -p must leave alone: tracing them would stop
 * what ubp itself waits for. The reader of our output would feed back: each line
 * it reads makes events that make lines.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/base/map.h"
#include "engine/base/proc.h"
#include "engine/session/exclude.h"
#include "engine/trace/task.h"

struct reader_of {
	struct map *excluded;
	char pipe[64]; /* "pipe:[123]", or "" */
	int tty_index; /* of our pseudo-terminal, or -1 */
};

static pid_t host; /* 0: this process */

void exclude_host(pid_t pid)
{
	host = pid;
}

static int add(struct map *excluded, pid_t pid)
{
	return map_put(excluded, (uint64_t)pid, excluded);
}

/* The number behind @key in the fdinfo of a descriptor, or -1. */
static long fdinfo_number(int fdinfo_dir, const char *fd, const char *key, int base)
{
	char buf[512], *at;
	int f = openat(fdinfo_dir, fd, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (f < 0)
		return -1;
	n = read(f, buf, sizeof(buf) - 1);
	close(f);
	buf[n > 0 ? n : 0] = '\0';
	at = strstr(buf, key);
	return at ? strtol(at + strlen(key), NULL, base) : -1;
}

/* That of a /dev/ptmx descriptor tells whose master it is. */
static bool is_our_terminal(int fdinfo_dir, const char *fd, int tty_index)
{
	return fdinfo_number(fdinfo_dir, fd, "tty-index:", 10) == tty_index;
}

/* Programs of one pipeline's end may write to the same pipe. */
static bool only_writes(int fdinfo_dir, const char *fd)
{
	long flags = fdinfo_number(fdinfo_dir, fd, "flags:", 8);

	return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY;
}

static bool reads_us(const struct reader_of *r, pid_t pid)
{
	char path[64], link[64];
	bool found = false;
	struct dirent *ent;
	int info;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	info = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (!found && (ent = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), ent->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		if (r->pipe[0] && strcmp(link, r->pipe) == 0)
			found = !only_writes(info, ent->d_name);
		else if (r->tty_index >= 0 &&
			 (strcmp(link, "/dev/ptmx") == 0 || strcmp(link, "/dev/pts/ptmx") == 0))
			found = is_our_terminal(info, ent->d_name, r->tty_index);
	}
	closedir(dir);
	if (info >= 0)
		close(info);
	return found;
}

static int check_one(void *ctx, pid_t pid)
{
	struct reader_of *r = ctx;

	return !map_get(r->excluded, (uint64_t)pid) && reads_us(r, pid) ? add(r->excluded, pid)
									: 0;
}

static int exclude_readers(struct map *excluded)
{
	for (int fd = 1; fd <= 2; fd++) {
		struct reader_of r = { .excluded = excluded, .tty_index = -1 };
		struct stat st;
		char path[48];
		int rc;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)(host ? host : getpid()),
			 fd);
		if (stat(path, &st) < 0)
			continue;
		if (S_ISFIFO(st.st_mode))
			snprintf(r.pipe, sizeof(r.pipe), "pipe:[%lu]",
				 (unsigned long)st.st_ino);
		else if (S_ISCHR(st.st_mode) && major(st.st_rdev) >= 136 &&
			 major(st.st_rdev) <= 143)
			r.tty_index = (int)minor(st.st_rdev);
		else
			continue;
		rc = proc_each(check_one, &r);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int exclude_collect(struct map *ret_excluded)
{
	pid_t pid = host ? host : getpid();
	int rc = add(ret_excluded, 1);

	if (rc == 0)
		rc = add(ret_excluded, getpid());
	while (rc == 0 && pid > 1) {
		rc = add(ret_excluded, pid);
		pid = task_ppid(pid);
	}
	return rc < 0 ? rc : exclude_readers(ret_excluded);
}
