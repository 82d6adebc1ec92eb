/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"

/* Of <linux/fcntl.h>: a file is born with it where vm.memfd_noexec says so. */
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

#define NAME_MAX_LEN 64

/*
 * What a descriptor of another stands for, as O_PATH: neither is it opened by that (a FIFO, a
 * terminal, a device would notice), nor does anything wait for its file system when it is closed.
 */
static int look_at(pid_t tid, uint64_t number)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, (int)number);
	return open(path, O_PATH | O_CLOEXEC);
}

/*
 * The mount that a descriptor of ours is on; -1: not known. The kernel tells it without asking a
 * file system, which may be the target's own (FUSE) and never answer.
 */
static long mount_of(int fd)
{
	char path[64], text[256];
	const char *at;
	ssize_t n = 0;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -1;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "mnt_id:");
	return at ? strtol(at + strlen("mnt_id:"), NULL, 10) : -1;
}

/*
 * Memory files are on one mount, the kernel's own: it is nowhere to be reached by a path, nobody can
 * mount it or put a file there by other means.
 */
static bool is_on_their_mount(int fd)
{
	static __thread long mount = -1; /* there from boot to shutdown */
	int own = mount < 0 ? memfd_create("ubp", MFD_CLOEXEC) : -1;

	if (own >= 0) {
		mount = mount_of(own);
		close(own);
	}
	return mount >= 0 && mount_of(fd) == mount;
}

static bool has_name(int fd, const char *name)
{
	char path[64], is[NAME_MAX_LEN + 32], should_be[sizeof(is)];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, is, sizeof(is) - 1);
	is[n > 0 ? n : 0] = '\0';
	snprintf(should_be, sizeof(should_be), "/memfd:%.*s (deleted)", NAME_MAX_LEN, name);
	return strcmp(is, should_be) == 0;
}

/*
 * As memfd_create() leaves it: nothing is in it, and everybody may write it who gets hold of it,
 * the target too. So by ours nothing is done that it could not do by itself.
 */
static bool is_new(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 0 && st->st_size == 0 &&
	       (st->st_mode & 0222) == 0222;
}

static int open_again(int found)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* @found: O_PATH. Theirs or not, it is the same file from here on. */
static int take(int found, const char *name, struct memory_file *ret_file, struct ubp_err *err)
{
	struct stat st;
	int fd, seals;

	if (!is_on_their_mount(found) || !has_name(found, name) || fstat(found, &st) < 0 ||
	    !is_new(&st))
		return ubp_fail(err, EINVAL, "another file has its number");
	fd = open_again(found);
	if (fd < 0)
		return ubp_fail_sys(err, "cannot open it");
	/* All but memory files that may be sealed have F_SEAL_SEAL from the start. */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & ~F_SEAL_EXEC)) {
		close(fd);
		return ubp_fail(err, EINVAL, "it was sealed");
	}
	*ret_file = (struct memory_file){ fd, st.st_dev, st.st_ino };
	return 0;
}

int memory_file_take(pid_t tid, uint64_t number, const char *name, struct memory_file *ret_file,
		     struct ubp_err *err)
{
	int rc, found = look_at(tid, number);

	if (found < 0 && (errno == ENOENT || errno == ESRCH))
		return ubp_fail(err, EBADF, "it is closed");
	if (found < 0)
		return ubp_fail_sys(err, "cannot look at it");
	rc = take(found, name, ret_file, err);
	close(found);
	return rc;
}

bool memory_file_has(pid_t tid, uint64_t number, const struct memory_file *file)
{
	int found = look_at(tid, number);
	struct stat st;
	bool has = found >= 0 && is_on_their_mount(found) && fstat(found, &st) == 0 &&
		   st.st_dev == file->dev && st.st_ino == file->ino;

	if (found >= 0)
		close(found);
	return has;
}
