/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * File systems that are there without anybody else's doing: who reads a file of theirs waits for a disk at
 * most. FUSE, network file systems and all that is not known here are served by somebody who need not answer.
 */

#ifndef UBP_OS_LOCAL_FS_H
#define UBP_OS_LOCAL_FS_H

#include <stdbool.h>
#include <stddef.h>

/* Is @type one, the @len bytes of its name as mountinfo has it? Does not allocate. */
bool local_fs_has_type(const char *type, size_t len);

/* Is the open file @fd on one? Not if that cannot be told. */
bool local_fs_has_file(int fd);

/* Does it show files of other file systems, which may be anything? One has to know who has mounted it. */
bool local_fs_is_overlay(int fd);

#endif
