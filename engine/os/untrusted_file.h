/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Opening a file that a program under trace may have chosen. A path of the form /proc/PID/root/... is looked
 * up within that root: symlinks lead where they lead there, never out of it, and if others rename and link
 * meanwhile. (openat2(); before Linux 5.6 component by component.)
 *
 * A path of the form /proc/PID/... is looked up by a child that may be given up (opener.h) where the process might have
 * us wait for a file system: -ETIMEDOUT, there was no answer; -EFBIG, -ENOTSUP, as there.
 */

#ifndef UBP_OS_UNTRUSTED_FILE_H
#define UBP_OS_UNTRUSTED_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/os/opener.h"

struct stat;

/*
 * Open the regular file at @path for reading. Anything else (a fifo, a device) is
 * looked at, but never opened: that could block, or have effects.
 *
 * Returns a descriptor, which is the caller's; -EINVAL: no regular file; or another
 * -errno. *ret_st is filled where something is there, whatever it is; else its
 * st_mode is 0.
 */
int file_open(const char *path, struct stat *ret_st);

/*
 * As file_open(), for who reads no more than the first FILE_HEAD_LEN bytes: of a file on a file system that others
 * serve no more is copied.
 */
#define FILE_HEAD_LEN OPENER_HEAD_LEN
int file_open_head(const char *path);

/* What is at @path, which is not opened. Returns 0 or -errno. */
int file_stat(const char *path, struct stat *ret_st);

/* Its entries. NULL: no folder, or it may not be read: errno. */
DIR *file_opendir(const char *path);

/*
 * Does @rc (0 or -errno) say that we are short of descriptors or memory? Then a file that could not be opened
 * may be there all the same: who looks for one must not say that there is none.
 */
bool file_is_shortage(int rc);

/*
 * What the symlink at @path says, NUL-ended. Returns 0; -EINVAL: it is none; -ENAMETOOLONG: it does not fit into
 * @size bytes; another -errno.
 */
int file_readlink(const char *path, char *buf, size_t size);

/*
 * Which file a link of /proc leads to (exe, root, ns/mnt), as the kernel knows it: the one who serves its file system
 * is not asked. Returns 0 or -errno.
 */
int file_identity(const char *path, uint64_t *ret_dev, uint64_t *ret_ino);

/* For people: why one of these functions returned @rc. */
const char *file_error(int rc);

/*
 * @path (no /proc/PID/root in front of it) in the folder @root, without openat2(): an O_PATH descriptor, or
 * -errno. What file_open() does on old kernels.
 */
int file_walk(int root, const char *path);

#endif
