/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Whose file system names are looked up in: ours, or that of a process. */

#ifndef UBP_FILES_FILE_ROOT_H
#define UBP_FILES_FILE_ROOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/elf/header.h"

struct file_root {
	pid_t pid;              /* 0: us */
	char path[32];          /* "", or "/proc/PID/root" where that is another than ours */
	struct elf_ident ident; /* of the programs that run there */
};

/*
 * Does the process see the files that we see? One root directory can carry other mounts in another mount
 * namespace. False also where that cannot be known: it has ended.
 */
bool file_root_is_ours(pid_t pid);

/* @pid 0: our own root. The process must be one that maps_read() could read. */
void file_root_init(struct file_root *root, pid_t pid);

/*
 * A path that opens from here what @path (absolute) is in @root; symlinks are
 * followed as there. malloc()ed. Returns 0 or -errno (-ENOENT: no such file; a
 * root of our own is not looked at).
 */
int file_root_resolve(const struct file_root *root, const char *path, char **ret_open);

#endif
